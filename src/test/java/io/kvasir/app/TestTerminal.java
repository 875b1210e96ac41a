package io.kvasir.app;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** A shell on a pseudo-terminal of 100 columns and 30 lines, which util-linux's {@code script} makes. */
final class TestTerminal implements AutoCloseable {
  private static final Path SCRIPT = Path.of("/usr/bin/script");

  private final Path typescript;
  private final Process process;

  private TestTerminal(Path typescript, Process process) {
    this.typescript = typescript;
    this.process = process;
  }

  /**
   * Starts a shell's commands; without {@code script} the test is not run.
   *
   * @param directory for files of its own
   */
  static TestTerminal run(Path directory, String commands) throws IOException {
    assumeTrue(Files.isExecutable(SCRIPT) && Files.exists(Path.of("/proc/self")), "util-linux makes the terminal");
    Path typescript = directory.resolve("typescript");
    ProcessBuilder shell =
        new ProcessBuilder(
                SCRIPT.toString(), "--quiet", "--flush", "--command", "stty cols 100 rows 30; " + commands,
                typescript.toString())
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("out").toFile());
    shell.environment().put("TERM", "xterm-256color");
    shell.environment().put("LC_ALL", "C.UTF-8");
    shell.environment().put("SHELL", "/bin/sh");
    return new TestTerminal(typescript, shell.start());
  }

  /** A shell's words for Kvasir in a JVM of its own. */
  static String kvasir(String arguments) {
    return "%s -Xmx256m -XX:TieredStopAtLevel=1 --enable-native-access=ALL-UNNAMED -cp '%s' %s %s"
        .formatted(
            ProcessHandle.current().info().command().orElse("java"), System.getProperty("java.class.path"),
            Main.class.getName(), arguments);
  }

  /** All that has been written to the terminal. */
  String shown() throws IOException {
    return Files.exists(typescript) ? Files.readString(typescript) : "";
  }

  void type(String keys) throws IOException {
    process.getOutputStream().write(keys.getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().flush();
  }

  /** Waits for the shell's end; whether it came. */
  boolean awaitEnd() throws InterruptedException {
    return process.waitFor(90, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
