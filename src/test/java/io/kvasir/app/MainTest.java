package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

final class MainTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  @Test
  void noArguments_printsHelp() {
    assertThat(run()).isZero();
    assertThat(text(out)).contains("demo", "serve", "validate", "sim", "lab", "version");
  }

  @Test
  void version() {
    assertThat(run("version")).isZero();
    assertThat(text(out)).startsWith("kvasir ").contains("JDK 25");
  }

  @Test
  void unknownCommand_suggestsTheNearest() {
    assertThat(run("server")).isEqualTo(2);
    assertThat(text(err)).contains("server", "serve");
  }

  @Test
  void severalMistakes_areAllTold() {
    assertThat(run("sim", "--port", "eighty", "--speed", "fast", "--colour")).isEqualTo(2);
    assertThat(text(err)).contains("--port", "--speed", "--colour");
  }

  @Test
  void sim_wrongValues_areAllTold() {
    assertThat(run("sim", "--block-size", "0", "--ranks", "0", "--engine", "abacus", "--fault", "earthquake=1"))
        .isEqualTo(1);
    assertThat(text(err)).contains("block-size", "ranks", "abacus", "earthquake");
  }

  @Test
  void lab_wrongValues_areAllTold() {
    assertThat(
            run("lab", "--trace", "nowhere.jsonl", "--engine", "abacus", "--workers", "0", "--profiles", "best",
                "--scale", "0", "--index", "psychic", "--out", "target/lab"))
        .isEqualTo(1);
    assertThat(text(err)).contains("nowhere.jsonl", "abacus", "workers", "best", "scale", "psychic");
  }

  @Test
  void serve_withoutConfig_saysWhatIsMissing() {
    assertThat(run("serve")).isEqualTo(2);
    assertThat(text(err)).contains("--config");
  }

  @Test
  void validate_noSuchFile_saysSo() {
    assertThat(run("validate", "--config", "no-such-file.conf")).isEqualTo(1);
    assertThat(text(err)).contains("no-such-file.conf");
  }

  @Test
  void clusterStatus_nobodyThere_saysSo() throws Exception {
    int port;
    try (ServerSocket socket = new ServerSocket(0)) {
      port = socket.getLocalPort();
    }
    assertThat(run("cluster", "status", "--management", "http://127.0.0.1:" + port)).isEqualTo(1);
    assertThat(text(err)).contains("nothing answers at http://127.0.0.1:" + port, "--management");
    assertThat(run("cluster", "status", "--management", "localhost")).isEqualTo(1);
    assertThat(text(err)).contains("http://10.0.0.5:7626, not localhost");
  }

  private int run(String... arguments) {
    PrintStream stdout = System.out;
    PrintStream stderr = System.err;
    try {
      System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
      System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
      return Main.run(arguments);
    } finally {
      System.setOut(stdout);
      System.setErr(stderr);
    }
  }

  private static String text(ByteArrayOutputStream bytes) {
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
