package io.kvasir.telemetry;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DecisionLogTest {
  @TempDir private Path directory;

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final Metrics metrics = new Metrics(registry);

  @Test
  void close_whatWasRecorded_isInTheFileLineByLine() throws IOException {
    Path file = directory.resolve("new/decisions.jsonl");
    DecisionLog log = log(file, 1, 1 << 20, 1, 10);
    DecisionRecord decision = decision("r1", "w0");

    log.recordDecision(decision);
    log.recordOutcome(outcome("r1", "w0"));
    log.close();

    List<String> lines = Files.readAllLines(file);
    assertThat(lines).hasSize(2);
    assertThat(DecisionJson.decision(lines.get(0))).isEqualTo(decision);
    assertThat(DecisionJson.decision(lines.get(1))).isNull();
    assertThat(new ObjectMapper().readTree(lines.get(1)).path("ttft_ms").asDouble()).isEqualTo(12.5);
    assertThat(lines("written")).isEqualTo(2);
  }

  @Test
  void write_longFile_movesAsideAndTheOldestGoes() throws IOException {
    Path file = directory.resolve("d.jsonl");
    int line = DecisionJson.of(decision("r100", "w0")).toString().length() + 1;
    DecisionLog log = log(file, 1, 3L * line, 2, 10);

    for (int i = 100; i < 110; i++) {
      log.recordDecision(decision("r" + i, "w0"));
    }
    log.close();

    assertThat(Files.readAllLines(file)).hasSize(1).allMatch(text -> text.contains("r109"));
    assertThat(Files.readAllLines(directory.resolve("d.jsonl.1"))).hasSize(3).first().asString().contains("r106");
    assertThat(Files.readAllLines(directory.resolve("d.jsonl.2"))).hasSize(3).first().asString().contains("r103");
    assertThat(directory.resolve("d.jsonl.3")).doesNotExist();
  }

  @Test
  void write_toAPlaceThatCannotBe_countsWhatIsLost() throws IOException {
    Path notADirectory = Files.writeString(directory.resolve("file"), "");
    DecisionLog log = log(notADirectory.resolve("d.jsonl"), 1, 1 << 20, 1, 10);

    log.recordDecision(decision("r", "w0"));
    log.close();

    assertThat(lines("failed")).isEqualTo(1);
    assertThat(log.recent(_ -> true, 5)).hasSize(1);
  }

  @Test
  void problems_aFileThatCannotBeWritten_isNamedUntilALineReachesIt() throws IOException {
    Path inTheWay = Files.writeString(directory.resolve("place"), "");
    DecisionLog log = log(inTheWay.resolve("d.jsonl"), 1, 1 << 20, 1, 10);
    assertThat(log.problems()).isEmpty();

    log.recordDecision(decision("r1", "w0"));
    await(() -> !log.problems().isEmpty());
    assertThat(log.problems()).singleElement().satisfies(problem -> {
      assertThat(problem.what()).contains("decision log", "d.jsonl", "lost");
      assertThat(problem.remedy()).contains("disk");
    });

    Files.delete(inTheWay);
    log.recordDecision(decision("r2", "w0"));
    await(() -> log.problems().isEmpty());
    log.close();
    assertThat(Files.readAllLines(inTheWay.resolve("d.jsonl"))).singleElement().asString().contains("r2");
  }

  @Test
  void write_afterAPartOfALine_beginsBelowIt() throws IOException {
    Path file = Files.writeString(directory.resolve("d.jsonl"), "{\"kind\":\"deci");
    DecisionLog log = log(file, 1, 1 << 20, 1, 10);

    log.recordDecision(decision("r1", "w0"));
    log.recordDecision(decision("r2", "w0"));
    log.close();

    List<String> lines = Files.readAllLines(file);
    assertThat(lines).hasSize(3).first().isEqualTo("{\"kind\":\"deci");
    assertThat(DecisionJson.decision(lines.get(1))).isEqualTo(decision("r1", "w0"));
  }

  @Test
  void samples_aShareOfTheRequests_theSameEveryTime() {
    DecisionLog log = log(null, 0.1, 1, 1, 1);

    long sampled = IntStream.range(0, 20_000).filter(i -> log.isSampled("request-" + i)).count();

    assertThat((double) sampled / 20_000).isCloseTo(0.1, within(0.02));
    assertThat(log.isSampled("request-7")).isEqualTo(log.isSampled("request-7"));
    assertThat(log(null, 0, 1, 1, 1, new PrometheusRegistry()).isSampled("r")).isFalse();
    assertThat(log(null, 1, 1, 1, 1, new PrometheusRegistry()).isSampled("r")).isTrue();
  }

  @Test
  void recent_keepsTheLastWithWhatBecameOfThem_newestFirst() {
    DecisionLog log = log(null, 1, 1, 1, 3);
    for (int i = 0; i < 5; i++) {
      log.recordDecision(decision("r" + i, "w" + i % 2));
    }
    log.recordOutcome(outcome("r4", "w0"));
    log.recordOutcome(outcome("r0", "w0"));

    List<DecisionLog.Entry> all = log.recent(_ -> true, 10);
    assertThat(all).extracting(entry -> entry.decision().requestId()).containsExactly("r4", "r3", "r2");
    assertThat(all.get(0).outcomes()).hasSize(1);
    assertThat(all.get(1).outcomes()).isEmpty();
    assertThat(log.recent(decision -> decision.plan().getFirst().worker().equals("w1"), 10)).hasSize(1);
    assertThat(log.recent(_ -> true, 2)).hasSize(2);
  }

  @Test
  void held_aHashedText_isFoundByTextAndByHash() {
    DecisionRecord decision = decision("r", "w0");

    assertThat(decision.slotContained("session-key", "alice")).isTrue();
    assertThat(decision.slotContained("session-key", DecisionRecord.hashed("alice"))).isTrue();
    assertThat(decision.slotContained("session-key", "bob")).isFalse();
    assertThat(decision.slotContained("hash-key", "alice")).isFalse();
  }

  private DecisionLog log(@Nullable Path file, double sample, long maxBytes, int keep, int recent) {
    return new DecisionLog(new DecisionLogSettings(file == null ? null
        : new LogFileSettings(file, maxBytes, keep), sample, recent), metrics);
  }

  private static DecisionLog log(
      @Nullable Path file, double sample, long maxBytes, int keep, int recent, PrometheusRegistry own) {
    return new DecisionLog(new DecisionLogSettings(file == null ? null
        : new LogFileSettings(file, maxBytes, keep), sample, recent), new Metrics(own));
  }

  private double lines(String result) {
    return TestMetrics.sum(registry, "kvasir_decision_log_lines", result);
  }

  private static DecisionRecord decision(String request, String worker) {
    return new DecisionRecord(
        "2026-01-01T00:00:00Z", request, null, "m", "p", "m", 389, 24, 16, "exact", List.of("00ff"),
        Map.of("session-key", DecisionRecord.hashed("alice")), 256, List.of(), null, "why",
        List.of(
            new DecisionRecord.StepRecord("whole", "both", worker, List.of(), 3, 48, 64, 64, 0.5, "next_candidate")),
        List.of(), null);
  }

  private static DecisionOutcome outcome(String request, String worker) {
    return new DecisionOutcome(
        "2026-01-01T00:00:01Z", request, "whole", worker, "completed", 30.5, 12.5, 389, 48, 64, 80, 0.5, null, null, 7);
  }
}
