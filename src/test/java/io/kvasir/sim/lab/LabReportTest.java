package io.kvasir.sim.lab;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

final class LabReportTest {
  private static final Latency SOME = new Latency(10.123, 9, 20, 30);

  @Test
  void json_hasTheAgreedFieldsAndNothingElse() throws IOException {
    JsonNode row = new ObjectMapper().readTree(new LabReport(List.of(run(1, 0.5))).json()).get(0);

    assertThat(row.fieldNames())
        .toIterable()
        .containsExactly(
            "trace", "engine", "workers", "scale", "seed", "index", "profile", "goodput", "hit_rate", "ttft_ms",
            "tpot_ms", "e2e_ms", "imbalance", "rejected");
    assertThat(row.get("ttft_ms").fieldNames()).toIterable().containsExactly("mean", "p50", "p90", "p99");
    assertThat(row.get("tpot_ms").get("mean").isNull()).as("nothing measured").isTrue();
    assertThat(row.get("ttft_ms").get("mean").asDouble()).isEqualTo(10.12);
  }

  @Test
  void table_takesTheMeanOverSeeds() {
    String table = new LabReport(List.of(run(1, 0.5), run(2, 0.6))).table();

    assertThat(table).contains("mean of 2 seeds").contains("0.550").contains("40%");
    assertThat(table.lines()).hasSize(3);
  }

  private static RunReport run(long seed, double goodput) {
    Latency none = Latency.of(new double[0], 0);
    return new RunReport(
        "t", "e", 8, 1.8, seed, "exact", "random", 9, goodput, 0.2, 0.5, SOME, none, SOME, 1.5, 3, 100);
  }
}
