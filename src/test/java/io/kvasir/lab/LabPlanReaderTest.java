package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LabPlanReaderTest {
  private static final String LINE =
      "{\"timestamp\": 5, \"input_length\": 9, \"output_length\": 2, \"hash_ids\": []}\n";

  @TempDir private Path directory;

  @Test
  void read_manyFaults_tellsAllOfThem() {
    LabPlanReader reader = new LabPlanReader();

    LabPlan plan =
        reader.read(
            new LabPlanReader.LabOptions(
                new LabPlanReader.LoadOptions(
                    List.of("nowhere.jsonl", "gen:nothing"), "scroll", List.of(-1.0), 0, "twice", -1, 2),
                new LabPlanReader.EngineOptions("abacus", "0", "sometimes", "often", -1, false),
                new LabPlanReader.RouterOptions(List.of("best", "absent.conf"), "psychic", "off:0", "maybe"),
                new Slo(0, 50)));

    assertThat(plan).isNull();
    assertThat(reader.faults())
        .extracting(fault -> fault.replaceFirst(":.*", ""))
        .containsExactlyInAnyOrder(
            "engine", "trace", "trace", "profiles", "profiles", "workers", "seeds", "scale", "slo-ttft, slo-tpot",
            "index", "coefficients", "guard", "elastic", "loop", "tenants", "warm-up", "stalls",
            "host-memory", "format");
  }

  @Test
  void read_traceScalesProfilesSeeds_combinesThemAll() throws IOException {
    Path trace = Files.writeString(directory.resolve("t.jsonl"), LINE);
    Path profiles = directory.resolve("mine.conf");
    Files.writeString(
        profiles,
        """
        careful {
          prepare = [ tokenize, block-hash ], filter = [ role, model, excluded ]
          score { plugin = expected-cost, kappa = 9 }, pick = max-score, execute = forward
        }
        """);
    LabPlanReader reader = new LabPlanReader();

    LabPlan plan = Objects.requireNonNull(reader.read(request(trace, "random", profiles.toString())));

    assertThat(reader.faults()).isEmpty();
    assertThat(plan.runs()).hasSize(2 * 2 * 3);
    assertThat(plan.runs()).extracting(run -> run.router().profile().name()).containsOnly("random", "careful");
  }

  @Test
  void read_faultyProfile_showsTheCompilersReport() throws IOException {
    Path trace = Files.writeString(directory.resolve("t.jsonl"), LINE);
    Path profiles = Files.writeString(directory.resolve("mine.conf"), "mine { pick = nobody }\n");
    LabPlanReader reader = new LabPlanReader();

    assertThat(reader.read(request(trace, "random", profiles.toString()))).isNull();
    assertThat(reader.faults()).singleElement().asString().contains("mine.conf").contains("nobody");
  }

  @Test
  void read_profilesThatAreNoneOrNoFile_areFaults() throws IOException {
    Path trace = Files.writeString(directory.resolve("t.jsonl"), LINE);
    Path empty = Files.writeString(directory.resolve("empty.conf"), "# none yet\n");
    LabPlanReader reader = new LabPlanReader();

    assertThat(reader.read(request(trace, directory + "/", empty.toString()))).isNull();
    assertThat(reader.faults()).hasSize(2).anyMatch(fault -> fault.contains("cannot be read; is it a file"))
        .anyMatch(fault -> fault.contains("names no profile"));
  }

  /** One load twice would count as two seeds. */
  @Test
  void read_loads_areThereOnce_andInTheirOrder() throws IOException {
    Path trace = Files.writeString(directory.resolve("t.jsonl"), LINE);
    LabPlanReader reader = new LabPlanReader();

    assertThat(reader.read(scaled(trace, 1.0, 2.0, 1.0))).isNull();
    assertThat(reader.faults()).singleElement().asString().contains("scale: 1 is there twice");
    LabPlan plan = Objects.requireNonNull(new LabPlanReader().read(scaled(trace, 2.0, 0.5, 1.0)));
    assertThat(plan.runs()).extracting(run -> run.load().scale()).containsExactly(0.5, 1.0, 2.0);
  }

  private static LabPlanReader.LabOptions scaled(Path trace, Double... scales) {
    return new LabPlanReader.LabOptions(
        new LabPlanReader.LoadOptions(List.of(trace.toString()), "auto", List.of(scales), 1, "trace", 0, 0),
        new LabPlanReader.EngineOptions("h200-Qwen3-32B-tp2", "8", "off", "off", 0, false),
        new LabPlanReader.RouterOptions(List.of("random"), "exact", "exact", "off"), new Slo(2000, 50));
  }

  @Test
  void read_profileOfSeveralSteps_isNoneOfTheLaboratorys() throws IOException {
    Path trace = Files.writeString(directory.resolve("t.jsonl"), LINE);
    LabPlanReader reader = new LabPlanReader();

    assertThat(reader.read(request(trace, "prefill-decode"))).isNull();
    assertThat(reader.faults()).singleElement().asString().contains("prefill-decode plans several steps");
    LabPlan all = Objects.requireNonNull(new LabPlanReader().read(request(trace, "all")));
    assertThat(all.runs()).extracting(run -> run.router().profile().name()).contains("sticky", "lodestar")
        .doesNotContain("prefill-decode");
  }

  @Test
  void read_oneProfileTwice_asksForOtherNames() throws IOException {
    Path trace = Files.writeString(directory.resolve("t.jsonl"), LINE);
    LabPlanReader reader = new LabPlanReader();

    assertThat(reader.read(request(trace, "random", "all"))).isNull();
    assertThat(reader.faults()).singleElement().asString().contains("two are named random");
  }

  private static LabPlanReader.LabOptions request(Path trace, String... profiles) {
    return new LabPlanReader.LabOptions(
        new LabPlanReader.LoadOptions(List.of(trace.toString()), "auto", List.of(1.0, 2.0), 3, "trace", 0, 0),
        new LabPlanReader.EngineOptions(TestTraces.ENGINE, "2", "off", "off", 0, false),
        new LabPlanReader.RouterOptions(List.of(profiles), "exact", "learnt:3", "on"),
        new Slo(2000, 50));
  }
}
