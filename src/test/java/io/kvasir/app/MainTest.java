package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.load.Ports;
import org.junit.jupiter.api.Test;

final class MainTest {
  private String out = "";
  private String err = "";

  @Test
  void noArguments_printsHelp() {
    assertThat(run()).isZero();
    assertThat(out).contains("demo", "serve", "validate", "sim", "lab", "version");
  }

  @Test
  void version() {
    assertThat(run("version")).isZero();
    assertThat(out).startsWith("kvasir ").contains("JDK 25");
  }

  @Test
  void unknownCommand_suggestsTheNearest() {
    assertThat(run("server")).isEqualTo(2);
    assertThat(err).contains("server", "serve");
  }

  @Test
  void severalMistakes_areAllTold() {
    assertThat(run("sim", "--port", "eighty", "--speed", "fast", "--colour")).isEqualTo(2);
    assertThat(err).contains("--port", "--speed", "--colour");
  }

  @Test
  void sim_wrongValues_areAllTold() {
    assertThat(run("sim", "--block-size", "0", "--ranks", "0", "--engine", "abacus", "--fault", "earthquake=1"))
        .isEqualTo(1);
    assertThat(err).contains("block-size", "ranks", "abacus", "earthquake");
  }

  @Test
  void lab_wrongValues_areAllTold() {
    assertThat(
            run("lab", "--trace", "nowhere.jsonl", "--engine", "abacus", "--workers", "0", "--profiles", "best",
                "--scale", "0", "--index", "psychic", "--out", "target/lab"))
        .isEqualTo(1);
    assertThat(err).contains("nowhere.jsonl", "abacus", "workers", "best", "scale", "psychic");
  }

  @Test
  void serve_withoutConfig_saysWhatIsMissing() {
    assertThat(run("serve")).isEqualTo(2);
    assertThat(err).contains("--config");
  }

  @Test
  void validate_noSuchFile_saysSo() {
    assertThat(run("validate", "--config", "no-such-file.conf")).isEqualTo(1);
    assertThat(err).contains("no-such-file.conf");
  }

  @Test
  void clusterStatus_nobodyThere_saysSo() {
    int port = Ports.free();
    assertThat(run("cluster", "status", "--management", "http://127.0.0.1:" + port)).isEqualTo(1);
    assertThat(err).contains("nothing answers at http://127.0.0.1:" + port, "--management");
    assertThat(run("cluster", "status", "--management", "localhost")).isEqualTo(1);
    assertThat(err).contains("http://10.0.0.5:7626, not localhost");
  }

  private int run(String... arguments) {
    TestCommand done = TestCommand.run(arguments);
    out = done.out();
    err = done.err();
    return done.status();
  }
}
