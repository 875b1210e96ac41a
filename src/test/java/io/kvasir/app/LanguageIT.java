package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kvasir on systems of other languages, in a JVM of its own: the language is the whole JVM's. */
final class LanguageIT {
  @TempDir private Path directory;

  /** Numbers are also in headers and in what engines are sent: a system's own digits or commas would break those. */
  @Test
  void numbers_haveAsciiDigits_whateverTheLanguageOfTheSystem() throws Exception {
    Process persian =
        new ProcessBuilder(
                ProcessHandle.current().info().command().orElse("java"), "-Duser.language=fa", "-Duser.country=IR",
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), Main.class.getName(),
                "validate", "--config", Files.writeString(directory.resolve("empty.conf"), "").toString())
            .redirectErrorStream(true)
            .start();
    String told = new String(persian.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(persian.waitFor()).as(told).isZero();
    assertThat(told).contains("is valid: 0 models, 0 pods");
  }
}
