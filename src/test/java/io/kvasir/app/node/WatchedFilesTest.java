package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.app.config.FileFingerprints;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class WatchedFilesTest {
  @TempDir private Path directory = Path.of("");

  @Test
  void change_hasSettled_whenTwoChecksFindTheSame() throws Exception {
    Path file = Files.writeString(directory.resolve("a.conf"), "a");
    try (WatchedFiles files = new WatchedFiles("the file", FileFingerprints.of(file))) {
      assertThat(files.haveSettled()).isFalse();
      Files.writeString(file, "ab");
      assertThat(files.haveSettled()).isFalse();
      Files.writeString(file, "abc");
      assertThat(files.haveSettled()).as("written again between two checks").isFalse();
      assertThat(files.haveSettled()).isTrue();
      files.readAs(FileFingerprints.of(file));
      assertThat(files.haveSettled()).isFalse();
    }
  }

  /** A check that ended with its first failure would leave a disabled key valid for good. */
  @Test
  void failingCheck_isRepeated() throws Exception {
    CountDownLatch checks = new CountDownLatch(3);
    Path file = directory.resolve("a.conf");
    try (WatchedFiles files = new WatchedFiles("the file", FileFingerprints.of(file))) {
      files.watch(Duration.ofMillis(1), () -> {
        checks.countDown();
        throw new IllegalStateException("once more");
      });
      assertThat(checks.await(60, TimeUnit.SECONDS)).isTrue();
    }
  }
}
