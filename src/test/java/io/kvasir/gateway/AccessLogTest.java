package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.access.Authentication;
import io.kvasir.access.Caller;
import io.kvasir.access.Grants;
import io.kvasir.access.Limits;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.telemetry.AccessLog;
import io.kvasir.telemetry.LogFileSettings;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lines of requests in the access log. */
final class AccessLogTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
  private static final String ANSWER = """
      {"id":"c","choices":[{"index":0,"message":{"content":"a secret word"}}],
       "usage":{"prompt_tokens":40,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":32}}}""";

  @TempDir private Path directory = Path.of("");

  @Test
  void everyRequest_hasALineWithoutAWordOfIt() throws Exception {
    Path file = directory.resolve("access.jsonl");
    Caller caller = new Caller("k1", "blue", Grants.ALL, Limits.NONE, Limits.NONE);
    try (AccessLog log =
            AccessLog.to(
                new LogFileSettings(file, 1 << 20, 1),
                InstantSource.fixed(Instant.parse("2026-11-22T10:00:00Z")),
                new Metrics(new PrometheusRegistry()));
        ScriptedPod pod = new ScriptedPod((request, out) -> out.json(200, ANSWER));
        TestRouter router =
            new TestRouter(
                new GatewayAccess(headers -> new Authentication.Accepted(caller), null, null, log), null)) {
      router.cells.worker("w0", pod.url(), "m");
      router.post(
          "/v1/chat/completions",
          "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a secret word\"}]}",
          "X-Request-Id", "id-1", "traceparent", "00-" + TRACE + "-00f067aa0ba902b7-01");
      router.post("/v1/chat/completions", "{\"model\":\"none\",\"messages\":[]}", "traceparent", "a secret word");
    }

    List<JsonNode> lines = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      assertThat(line).doesNotContain("secret");
      lines.add(JSON.readTree(line));
    }
    assertThat(lines).hasSize(2);
    JsonNode served = lines.getFirst();
    assertThat(served.path("timestamp").asText()).isEqualTo("2026-11-22T10:00:00Z");
    assertThat(served.path("request_id").asText()).isEqualTo("id-1");
    assertThat(served.path("trace_id").asText()).isEqualTo(TRACE);
    assertThat(served.path("client").asText()).isEqualTo("127.0.0.1");
    assertThat(served.path("key").asText()).isEqualTo("k1");
    assertThat(served.path("tenant").asText()).isEqualTo("blue");
    assertThat(served.path("api").asText()).isEqualTo("chat");
    assertThat(served.path("model").asText()).isEqualTo("m");
    assertThat(served.path("worker").asText()).isEqualTo("w0");
    assertThat(served.path("tries").asInt()).isEqualTo(1);
    assertThat(served.path("status").asInt()).isEqualTo(200);
    assertThat(served.path("prompt_tokens").asInt()).isEqualTo(40);
    assertThat(served.path("cached_tokens").asInt()).isEqualTo(32);
    assertThat(served.path("output_tokens").asInt()).isEqualTo(2);
    assertThat(served.path("total_ms").isIntegralNumber()).isTrue();
    JsonNode refused = lines.getLast();
    assertThat(refused.path("status").asInt()).isEqualTo(404);
    assertThat(refused.has("worker")).isFalse();
    assertThat(refused.has("trace_id")).isFalse();
  }
}
