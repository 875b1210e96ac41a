package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.TestAbortedException;

/**
 * A peer that shares nothing with the picker: gRPC's Python library, with the messages that Envoy publishes, fetched
 * once from the Python index and kept in the user's cache. What it sends is in {@code peer.py}.
 */
final class PickerPeerIT {
  private static final String[] PACKAGES = {"grpcio==1.85.1", "xds-protos==1.85.0", "protobuf==7.36.2"};

  @TempDir private Path directory = Path.of("");

  @Test
  void hostileStreams_areAnswered_andLeaveNothingBehind() throws Exception {
    Path python = python();
    Path script = directory.resolve("peer.py");
    try (InputStream source = PickerPeerIT.class.getResourceAsStream("peer.py")) {
      Files.copy(Objects.requireNonNull(source), script);
    }
    try (TestPicker picker = new TestPicker(TestPicker.SETTINGS)) {
      picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
      Path log = directory.resolve("peer.log");
      String port = Integer.toString(picker.picker.ports().getFirst());
      assertThat(run(log, python.toString(), script.toString(), port)).as(() -> text(log)).isTrue();

      Await.await(() -> picker.metric("kvasir_picker_streams_running") == 0);
      Await.await(() -> picker.cells.open.get() == 0);
      Await.await(() -> picker.metric("kvasir_picker_memory_used_bytes") == 0);
      assertThat(picker.cells.closedTwice.get()).isZero();
    }
  }

  /**
   * A Python that has the packages.
   *
   * @throws TestAbortedException where they cannot be had
   */
  private Path python() throws IOException, InterruptedException {
    String versions = Integer.toHexString(Arrays.hashCode(PACKAGES));
    Path environment = Path.of(System.getProperty("user.home"), ".cache", "kvasir", "picker-peer-" + versions);
    Path python = environment.resolve("bin").resolve("python");
    Path complete = environment.resolve("complete");
    if (Files.exists(complete)) {
      return python;
    }
    Path log = directory.resolve("pip.log");
    Files.createDirectories(environment.getParent());
    List<String> install =
        Stream.concat(
                Stream.of(
                    python.toString(), "-m", "pip", "install", "--quiet", "--no-input", "--only-binary", ":all:"),
                Arrays.stream(PACKAGES))
            .toList();
    if (!run(log, "python3", "-m", "venv", environment.toString())
        || !run(log, install.toArray(String[]::new))) {
      String why = "SKIPPED, NOT TESTED: the endpoint picker before a peer in Python; " + text(log);
      System.err.println(why);
      throw new TestAbortedException(why);
    }
    Files.copy(log, complete, StandardCopyOption.REPLACE_EXISTING);
    return python;
  }

  /** Whether a program ends well. */
  private static boolean run(Path log, String... command) throws InterruptedException {
    Process process;
    try {
      process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    } catch (IOException missing) {
      return false;
    }
    try {
      return process.waitFor(5, TimeUnit.MINUTES) && process.exitValue() == 0;
    } finally {
      process.destroyForcibly();
    }
  }

  private static String text(Path log) {
    try {
      return Files.readString(log);
    } catch (IOException none) {
      return "there is no " + log.getFileName();
    }
  }
}
