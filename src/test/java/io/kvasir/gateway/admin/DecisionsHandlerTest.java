package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionLogSettings;
import io.kvasir.telemetry.DecisionOutcome;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class DecisionsHandlerTest {
  private final DecisionLog log =
      new DecisionLog(new DecisionLogSettings(null, 1, 50), new Metrics(new PrometheusRegistry()));
  private final DecisionsHandler admin = new DecisionsHandler(log);

  @BeforeEach
  void decide() {
    for (int i = 0; i < 30; i++) {
      log.recordDecision(
          new DecisionRecord(
              "", "r" + i, "trace" + i % 4, i % 3 == 0 ? "org/m" : "n", "p", "m", 1, 0, 0, "exact", List.of(),
              Map.of("session-key", DecisionRecord.hashed("s" + i % 5)), 256, List.of(), null, "",
              List.of(
                  new DecisionRecord.StepRecord(
                      "whole", "both", "w" + i % 2, List.of(), 0, 0, 0, 0, 0.0, "next_candidate")),
              List.of(), null));
    }
    log.recordOutcome(new DecisionOutcome("", "r29", "whole", "w1", "completed", null, 5.0, 9, 0, 0, 0, 0, 0, null, 3));
  }

  @ParameterizedTest
  @CsvSource({
    "'', 20, r29",
    "?limit=3, 3, r29",
    "?model=org%2Fm, 10, r27",
    "?worker=w0&limit=50, 15, r28",
    "?session=s2, 6, r27",
    "?request=r7, 1, r7",
    "?trace=trace2&limit=50, 7, r26",
    "?worker=w1&session=s0, 3, r25"
  })
  void get_narrowedDown_newestFirst(String query, int count, String first) throws IOException {
    JsonNode decisions = call("GET", "/admin/decisions" + query, 200).path("decisions");

    assertThat(decisions).hasSize(count);
    assertThat(decisions.path(0).path("request_id").asText()).isEqualTo(first);
  }

  @Test
  void get_decision_carriesWhatBecameOfIt() throws IOException {
    JsonNode decisions = call("GET", "/admin/decisions?limit=2", 200).path("decisions");

    assertThat(decisions.path(0).path("outcomes").path(0).path("outcome").asText()).isEqualTo("completed");
    assertThat(decisions.path(1).path("outcomes")).isEmpty();
  }

  @Test
  void get_one_byItsId() throws IOException {
    JsonNode listed = call("GET", "/admin/decisions?limit=1", 200).path("decisions").path(0);

    assertThat(call("GET", "/admin/decisions/" + listed.path("id").asText(), 200)).isEqualTo(listed);
    assertThat(call("GET", "/admin/decisions", 200).findValuesAsText("id")).doesNotHaveDuplicates();
  }

  @ParameterizedTest
  @CsvSource({
    "GET, /admin/decisions?limit=0, 400",
    "GET, /admin/decisions?limit=many, 400",
    "GET, /admin/decisions?wroker=w0, 400",
    "POST, /admin/decisions, 405",
    "GET, /admin/decisions/r1, 404"
  })
  void get_askedWrongly_saysSo(String method, String target, int status) throws IOException {
    assertThat(call(method, target, status).at("/error/message").asText()).isNotBlank();
  }

  private JsonNode call(String method, String target, int status) throws IOException {
    return TestAdmin.call(admin, method, target, "", status);
  }
}
