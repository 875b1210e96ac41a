package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.app.command.SimCommand;
import io.kvasir.load.Ports;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

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

  /** Lists of commands have the first line of each one's description. */
  @Test
  void help_ofWorkers_describesEachCommandByWholeSentences() {
    assertThat(run("admin", "workers", "--help")).isZero();
    assertThat(out.replaceAll("\\s+", " "))
        .contains("add Adds a pod's workers. Without --model the engine is asked what it is. drain Lets");
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
  void whatIsMissing_isToldOnce() {
    assertThat(run("keys", "create")).isEqualTo(2);
    assertThat(err.lines().filter(line -> line.contains("KEY")).toList()).hasSize(1);
    assertThat(err).contains("--tenant");
  }

  @Test
  void init_withoutUrl_saysSo() {
    assertThat(run("init")).isEqualTo(2);
    assertThat(err).contains("Missing required parameter: 'URL'");
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
  void validate_aDirectory_saysSo() {
    assertThat(run("validate", "--config", ".")).isEqualTo(1);
    assertThat(err).contains(".: is a directory; name a file").doesNotContain("Exception");
  }

  @Test
  void validateLlmd_printsTheTranslation_andCountsWhatIsLost() {
    String file = "src/test/resources/llmd/without-counterpart.yaml";
    assertThat(run("validate", "--llm-d", file)).isEqualTo(3);
    assertThat(out).contains("kvasir {", "profiles.default", "# - line 5, context-length-aware");
    assertThat(err).contains(file + ":5: context-length-aware: no counterpart", "8 no counterpart");
    assertThat(run("validate", "--llm-d", "src/test/resources/llmd/weighted.yaml", "--json")).isZero();
    assertThat(out).contains("\"verdict\" : \"similar\"", "\"configuration\" : \"# Translated", "\"line\" : 5");
  }

  @Test
  void validate_wantsOneFile() {
    assertThat(run("validate")).isEqualTo(2);
    assertThat(err).contains("--config", "--llm-d");
    assertThat(run("validate", "--config", "a.conf", "--llm-d", "b.yaml")).isEqualTo(2);
    assertThat(run("validate", "--llm-d", "b.yaml")).isEqualTo(1);
    assertThat(err).contains("b.yaml: cannot be read");
  }

  @Test
  void argumentsOfLlmdsPicker_withoutACommand_areUnderstood() {
    String[] pool = {"--endpoint-selector", "app=vllm", "-endpointTargetPorts=8000", "--secure-serving=false"};
    assertThat(run("--endpoint-selector", "app=vllm", "--grpc-port", "x", "--print")).isEqualTo(1);
    assertThat(err).contains("--grpc-port: is x", "--endpoint-target-ports: is needed");
    assertThat(run(Stream.concat(Arrays.stream(pool), Stream.of("--wings", "--print")).toArray(String[]::new)))
        .isEqualTo(2);
    assertThat(err).contains("--wings", "kvasir picker --help");
    run(Stream.concat(Arrays.stream(pool), Stream.of("--print")).toArray(String[]::new));
    assertThat(out).contains("picker.tls.enabled = false", "selector = \"app=vllm\"", "http://{ip}:8000");
  }

  @Test
  void clusterStatus_nobodyThere_saysSo() {
    int port = Ports.free();
    assertThat(run("cluster", "status", "--management", "http://127.0.0.1:" + port)).isEqualTo(1);
    assertThat(err).contains("nothing answers at http://127.0.0.1:" + port, "--management");
    assertThat(run("cluster", "status", "--management", "localhost")).isEqualTo(1);
    assertThat(err).contains("http://10.0.0.5:7626, not localhost");
  }

  /** A value that makes no sense ends in a sentence that names its option, and in no stack trace. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "sim --capacity 600000000 | --capacity: must be", "sim --events-connect tcp://h:99999 | --events-connect: must be",
    "sim --health-delay-ms -5 | --health-delay-ms: must not", "sim --controller --port 99999 | --port: must be",
    "sim --controller --speed 2 | --speed: is for engines", "sim --coordinator --port 99999 | --port: must be",
    "sim --model-dir src/test/resources/llmd | there is no tokenizer.json", "demo --speed -1 | --speed: must be",
    "demo --speed NaN | --speed: must be", "demo --profile a\"b | a\"b",
    "demo --prefill-decode --profile random | leave out --profile",
    "admin cells --management httpfoo://x | --management has to be",
    "admin workers drain p --wait --timeout 9223372036854775807 --management http://127.0.0.1:1 | --timeout has to be",
    "lab --out target/lab --trace gen:shared-prefix?groups=100000&prompts=100000 | prompts, more than",
    "lab --out target/lab --trace gen:sessions?turns=2.7 | turns is '2.7', give a whole number",
    "lab --out target/lab --trace target/none.jsonl | there is no file target/none.jsonl",
    "replay --profile random pom.xml | no decision in the log"
  })
  void valueThatMakesNoSense_isNamed(String line, String complaint) {
    assertThat(run(line.split(" "))).isEqualTo(1);
    assertThat(err).contains(complaint).doesNotContain("should not have happened");
  }

  @Test
  void commandThatWasForgotten_isNotTakenForLlmdsPicker() {
    assertThat(run("--config", "my.conf")).isEqualTo(2);
    assertThat(err).contains("--config", "See: kvasir --help").doesNotContain("picker");
  }

  @Test
  void help_ofSim_hasEveryOptionInOneSection() {
    assertThat(run("sim", "--help")).isZero();
    assertThat(out).containsSubsequence(
        "The engine:", "--port", "Cache events and load:", "--events-port", "What goes wrong:", "--fault",
        "in place of an engine:", "--pull-port");
    List<String> names =
        new CommandLine(new SimCommand()).getCommandSpec().options().stream().map(OptionSpec::longestName).toList();
    for (String name : names) {
      assertThat(out.lines().filter(line -> line.matches("( {6}|  -., )" + name + "([ =].*)?"))).as(name).hasSize(1);
    }
    assertThat(run("version", "--help")).isZero();
    assertThat(out).contains("Usage: kvasir version");
  }

  private int run(String... arguments) {
    TestCommand done = TestCommand.run(arguments);
    out = done.out();
    err = done.err();
    return done.status();
  }
}
