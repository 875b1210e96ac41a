package io.kvasir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Programs of others that integration tests run: those on the PATH, or fetched by {@code src/test/servers}. */
public final class TestPrograms {
  private TestPrograms() {}

  /**
   * A program that may be there.
   *
   * @param path empty where it cannot be had
   * @param errors why not, and what to install
   */
  private record Found(String path, String errors) {}

  /** The path of a program. Fails with what to install. */
  public static String path(String name) throws IOException {
    Found found = find(name);
    assertThat(found.path()).as(found.errors()).isNotEmpty();
    return found.path();
  }

  /** The path of a program without which the test is skipped, with a word about what to install. */
  public static String pathOrSkip(String name) throws IOException {
    Found found = find(name);
    if (found.path().isEmpty()) {
      System.err.println("SKIPPED for want of " + name + ": " + found.errors());
      abort(found.errors());
    }
    return found.path();
  }

  private static Found find(String name) throws IOException {
    Process script = new ProcessBuilder("src/test/servers", name).start();
    script.getOutputStream().close();
    List<String> lines = new ArrayList<>(script.inputReader().lines().toList());
    String errors = new String(script.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    String path =
        lines.stream()
            .filter(line -> line.startsWith(name + " "))
            .findFirst()
            .map(line -> line.substring(name.length() + 1))
            .orElse("");
    return new Found(path, errors);
  }
}
