package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The steps of the container file, in a plain directory: what they make runs without any other Java, as a user who owns
 * nothing and may write nowhere but in /tmp.
 */
final class ImageIT {
  private static final List<String> NOBODY =
      List.of("setpriv", "--reuid", "10001", "--regid", "10001", "--clear-groups");

  @TempDir private static Path directory;
  private static Path image;

  /** The cache is recorded from a command that costs little; the image has it from train. */
  @BeforeAll
  static void assemble() throws Exception {
    image = directory.resolve("image");
    Process assembling =
        new ProcessBuilder(
                "cluster-configs/image/assemble", System.getProperty("java.home"), image.toString(), "version")
            .redirectErrorStream(true)
            .start();
    String said = new String(assembling.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(assembling.waitFor()).as(said).isZero();
    assertThat(said).doesNotContain("there is no AOT cache");
    assertThat(image.resolve("kvasir.aot")).isNotEmptyFile();
    assertThat(directory.toFile().setExecutable(true, false)).as("others may look into it").isTrue();
  }

  @Test
  void theCache_isOneThatTheRuntimeTakes() throws Exception {
    List<String> command =
        List.of(
            image + "/runtime/bin/java", "@" + image.resolve("jvm.flags"), "-XX:+UseParallelGC", "-XX:AOTMode=on",
            "-XX:AOTCache=" + image.resolve("kvasir.aot"), "-cp", Files.readString(image.resolve("class.path")),
            "io.kvasir.app.Main", "version");
    Process started = start(command);
    String said = new String(started.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(started.waitFor()).as(said).isZero();
    assertThat(said).contains("kvasir ");
  }

  @Test
  void aNodeOfTheImage_serves_andStopsWhenItIsTold() throws Exception {
    Path config =
        Files.writeString(
            directory.resolve("kvasir.conf"),
            """
            kvasir {
              gateway.port = 0
              management.port = 0
              warm-up.enabled = false
              models = [{ name = "kvasir-demo", directory = "bundled:kvasir-demo" }]
            }
            """);
    Process node = start(List.of(image + "/start", "serve", "--config", config.toString()));
    try (BufferedReader output = node.inputReader()) {
      String gateway = addresses(output).group(1);
      try (HttpClient client = HttpClient.newHttpClient()) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(gateway + "/health")).build();
        assertThat(client.send(request, BodyHandlers.ofString()).statusCode()).isEqualTo(200);
      }
      node.destroy();
      assertThat(node.waitFor(60, TimeUnit.SECONDS)).as("SIGTERM reaches the JVM").isTrue();
    } finally {
      node.destroyForcibly();
    }
  }

  private static Matcher addresses(BufferedReader output) throws IOException {
    StringBuilder said = new StringBuilder();
    Pattern pattern = Pattern.compile("gateway at (\\S+), management at (\\S+)");
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      Matcher found = pattern.matcher(line);
      if (found.find()) {
        return found;
      }
      said.append(line).append('\n');
    }
    throw new AssertionError("the node did not start: " + said);
  }

  /** Starts a command as nobody where that can be done, with no environment to speak of. */
  private static Process start(List<String> command) throws IOException {
    List<String> whole = new ArrayList<>();
    if (mayBeNobody()) {
      whole.addAll(NOBODY);
    }
    whole.addAll(command);
    ProcessBuilder program = new ProcessBuilder(whole).directory(Path.of("/tmp").toFile()).redirectErrorStream(true);
    program.environment().clear();
    program.environment().put("PATH", "/usr/bin:/bin");
    program.environment().put("KVASIR_HEAP", "256m");
    return program.start();
  }

  /** Root may become somebody else, who may not get here when the checkout is in a directory of root's own. */
  private static boolean mayBeNobody() throws IOException {
    List<String> command = new ArrayList<>(NOBODY);
    command.addAll(List.of("test", "-x", image.resolve("start").toString()));
    try {
      return new ProcessBuilder(command).start().onExit().join().exitValue() == 0;
    } catch (IOException noSetpriv) {
      return false;
    }
  }
}
