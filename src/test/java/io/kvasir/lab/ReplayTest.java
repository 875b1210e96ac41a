package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.telemetry.DecisionJson;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.DecisionRecord.CandidateRecord;
import io.kvasir.telemetry.DecisionRecord.Pass;
import io.kvasir.telemetry.DecisionRecord.WorkerFacts;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ReplayTest {
  @TempDir private Path directory;

  /** w0 holds all of the prompt and has 5 requests in flight, w1 holds nothing and has none. */
  private static DecisionRecord decision(String chosen) {
    return new DecisionRecord(
        "2026-01-01T00:00:00Z", "r-" + chosen, null, "m", "some", "m", 1000, 62, 16, "exact",
        List.of("00000000000000ff"),
        Map.of("session-key", "0123456789abcdef"), 256, List.of(), null, "", List.of(),
        List.of(new Pass("both", chosen, List.of(candidate(0, 62, 5), candidate(1, 0, 0)))), null);
  }

  private static CandidateRecord candidate(int slot, int depth, int inFlight) {
    return candidate(slot, depth, inFlight, null, 0.0);
  }

  private static CandidateRecord candidate(
      int slot, int depth, int inFlight, @Nullable Integer waiting, @Nullable Double evictionLoss) {
    return new CandidateRecord(
        "w" + slot, slot, null, depth, Map.of(), inFlight, 0, 0, 10L * inFlight, waiting, null, evictionLoss, List.of(),
        0, null,
        new WorkerFacts("w" + slot, 0, 1, "both", List.of("m"), Map.of(), 64, "h100-Llama-3.1-8B-tp1", 0.02, 1e-6));
  }

  @Test
  void run_anotherProfile_tellsWhatChangesAndWhy() throws IOException {
    Path log = log(line("w0"), line("w0"), line("w1"), "{\"kind\":\"outcome\",\"request_id\":\"r-w0\"}");

    ReplayReport report = run(log, "least-loaded", "expected-cost");

    ReplayReport.Row least = report.rows().get(0);
    assertThat(least.decisions()).isEqualTo(3);
    assertThat(least.changed()).isEqualTo(2);
    assertThat(least.why()).containsExactly(Map.entry("scorer least-load", 2));
    assertThat(least.cachedBefore()).isEqualTo(2 * 992);
    assertThat(least.cachedNow()).isZero();
    assertThat(least.changes().getFirst())
        .isEqualTo(new ReplayReport.ChangedDecision("r-w0", "w0", "w1", "scorer least-load"));
    ReplayReport.Row cost = report.rows().get(1);
    assertThat(cost.changed()).isEqualTo(1);
    assertThat(cost.why()).containsExactly(Map.entry("scorer expected-cost", 1));
    assertThat(report.lines()).isEqualTo(4);
    assertThat(report.table()).contains("least-loaded", "scorer least-load 2");
  }

  /** Both would compute the whole prompt: w0 loses by it what it needs, w1 nothing. */
  @Test
  void run_expectedCost_pricesWithWhatWorkersLoseByEviction() throws IOException {
    ReplayReport report = run(log(line(candidate(0, 0, 0, null, 0.9), candidate(1, 0, 0, null, 0.0))), "expected-cost");

    assertThat(report.rows().getFirst().changes())
        .containsExactly(new ReplayReport.ChangedDecision("r-w0", "w0", "w1", "scorer expected-cost"));
    assertThat(report.incomplete()).isZero();
  }

  /** The whole prompt was to come from another worker's memory, of which the record says no more. */
  @Test
  void run_decisionThatGoesByOthersMemory_isTold() throws IOException {
    String reason = "some; depth=0/62; cached=992/1000; candidates=2; pull=992@w0";
    String pulled = line("w1").replace("\"reason\":\"\"", "\"reason\":\"" + reason + "\"");
    assertThat(pulled).contains(reason);

    ReplayReport report = run(log(pulled, line("w0")), "least-loaded", "expected-cost");

    assertThat(report.pulled()).isEqualTo(1);
    assertThat(report.rows().getFirst().decisions()).isEqualTo(2);
  }

  @Test
  void run_overload_goesByWhatEnginesReport() throws IOException {
    Path own = Files.writeString(directory.resolve("own.conf"), """
        not-overloaded {
          prepare = [ tokenize, block-hash ]
          filter = [ role, model, excluded, overload ]
          score = cache-affinity, pick = max-score, execute = forward
        }
        """);

    ReplayReport report = run(log(line(candidate(0, 62, 0, 40, 0.0), candidate(1, 0, 0, 1, 0.0))), own.toString());

    assertThat(report.rows().getFirst().why()).containsExactly(Map.entry("filter overload", 1));
  }

  @Test
  void run_decisionsOfAnEarlierVersion_areCountedAsIncomplete() throws IOException {
    String earlier = line(candidate(0, 62, 5, null, null), candidate(1, 0, 0, null, null));
    assertThat(earlier).doesNotContain("eviction_loss");

    assertThat(run(log(earlier, line("w0")), "least-loaded", "expected-cost").incomplete()).isEqualTo(1);
  }

  @Test
  void run_profileThatRemovesTheChosen_namesTheFilter() throws IOException {
    Path own = Files.writeString(directory.resolve("own.conf"), """
        idle-only {
          prepare = [ tokenize, block-hash ]
          filter = [ role, model, excluded, { plugin = saturation, in-flight = 3 } ]
          score = cache-affinity, pick = max-score, execute = forward
        }
        """);

    ReplayReport report = run(log(line("w0")), own.toString());

    assertThat(report.rows().getFirst().why()).containsExactly(Map.entry("filter saturation", 1));
  }

  @Test
  void run_linesThatAreNone_areCountedAndNamed() throws IOException {
    Path log = log(line("w0"), "{\"kind\":\"decision\"}", "not json", line("w0").replace("\"slot\":1", "\"slot\":999"));

    ReplayReport report = run(log, "least-loaded");

    assertThat(report.faulty()).isEqualTo(3);
    assertThat(report.faults()).hasSize(3).allMatch(fault -> fault.startsWith(log + ":"));
    assertThat(report.faults().get(2)).contains(":4: ", "slot 999");
    assertThat(report.rows().getFirst().decisions()).isEqualTo(1);
  }

  @Test
  void run_gzippedLog_isRead() throws IOException {
    Path log = directory.resolve("d.jsonl.gz");
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(log))) {
      out.write(line("w0").getBytes(StandardCharsets.UTF_8));
    }

    assertThat(run(log, "least-loaded").rows().getFirst().decisions()).isEqualTo(1);
  }

  /** A log that is being written, or whose writer crashed, ends within a compressed part. */
  @Test
  void run_logThatWasCut_isReadAsFarAsItGoes() throws IOException {
    Path whole = directory.resolve("whole.jsonl.gz");
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(whole))) {
      for (int i = 0; i < 2_000; i++) {
        out.write((line("w0").replace("r-w0", "r" + i * 7_919L) + "\n").getBytes(StandardCharsets.UTF_8));
      }
    }
    byte[] bytes = Files.readAllBytes(whole);
    Path cut = Files.write(directory.resolve("cut.jsonl.gz"), Arrays.copyOf(bytes, bytes.length / 2));
    Path empty = Files.createFile(directory.resolve("empty.jsonl.gz"));

    ReplayReport report = run(cut, "least-loaded");
    ReplayReport nothing = run(empty, "least-loaded");

    assertThat(report.rows().getFirst().decisions()).isBetween(100, 1_999);
    assertThat(report.faults()).singleElement().asString().contains("the file ends within");
    assertThat(report.isEmpty()).isFalse();
    assertThat(nothing.faults()).singleElement().asString().startsWith(empty + ":1: ");
    assertThat(nothing.isEmpty()).isTrue();
  }

  @Test
  void of_manyFaults_tellsAllOfThem() {
    List<String> faults = new ArrayList<>();

    Replay.of(List.of(directory.resolve("none")), List.of("best", "absent.conf"), faults);

    assertThat(faults).hasSize(3);
  }

  @Test
  void write_report_isJson() throws IOException {
    Path file = directory.resolve("out/report.json");

    run(log(line("w0")), "least-loaded").write(file);

    JsonNode profile = new ObjectMapper().readTree(file.toFile()).path("profiles").path(0);
    assertThat(profile.path("changed").asInt()).isEqualTo(1);
    assertThat(profile.path("why").path("scorer least-load").asInt()).isEqualTo(1);
    assertThat(profile.path("changes").path(0).path("replayed").asText()).isEqualTo("w1");
  }

  private static String line(String chosen) {
    return DecisionJson.of(decision(chosen)).toString();
  }

  /** A decision for w0 among these. */
  private static String line(CandidateRecord... candidates) {
    DecisionRecord some = decision("w0");
    return DecisionJson.of(
        new DecisionRecord(
            some.time(), some.requestId(), null, some.model(), some.profile(), some.cell(), some.promptTokens(),
            some.blocks(), some.blockSize(), some.tokensFrom(), some.chain(), some.slots(),
            some.expectedOutputTokens(), some.excluded(), null, "", List.of(),
            List.of(new Pass("both", "w0", List.of(candidates))), null))
        .toString();
  }

  private Path log(String... lines) throws IOException {
    return Files.write(directory.resolve("d.jsonl"), List.of(lines));
  }

  private static ReplayReport run(Path log, String... profiles) throws IOException {
    List<String> faults = new ArrayList<>();
    Replay replay = Replay.of(List.of(log), List.of(profiles), faults);
    assertThat(faults).isEmpty();
    return replay.run(_ -> {});
  }
}
