package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.http.client.ScriptedPod;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code POST /v1/route}: how a request would be routed. */
final class RouteTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String LONG = "Once upon a time there was a router that was asked what it would do.";

  private final AtomicInteger served = new AtomicInteger();
  private TestRouter router;
  private ScriptedPod pod;

  @BeforeEach
  void start() throws IOException {
    router = new TestRouter();
    pod = new ScriptedPod((request, out) -> {
      served.incrementAndGet();
      out.json(200, "{}");
    });
    router.cells.worker("w0", pod.url(), "m");
  }

  @AfterEach
  void stop() {
    router.close();
    pod.close();
  }

  @Test
  void route_ofARequest_tellsTheDecisionAndReachesNobody() throws Exception {
    HttpResponse<String> response = router.post(
        "/v1/route/v1/chat/completions",
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"" + LONG + "\"}]}");

    JsonNode body = JSON.readTree(response.body());
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("X-Request-Id")).hasValue(body.path("request_id").asText());
    assertThat(body.path("kind").asText()).isEqualTo("decision");
    assertThat(body.path("profile").asText()).isEqualTo("random");
    assertThat(body.path("blocks").asInt()).isPositive();
    assertThat(body.path("tokens_from").asText()).isEqualTo("text");
    assertThat(body.path("tokens_from_why").asText()).isEqualTo("unknown_model");
    assertThat(response.body()).doesNotContain("Once");
    assertThat(served).hasValue(0);
    assertThat(router.cells.open).hasValue(0);
  }

  @ParameterizedTest
  @CsvSource({
    "/v1/route, messages, [{'role':'user'・'content':'%s'}]",
    "/v1/route, prompt, '%s'",
    "/v1/route, input, '%s'",
    "/v1/route/v1/completions, prompt, '%s'",
    "/v1/route/v1/responses, input, '%s'",
    "/v1/route/v1/messages, messages, [{'role':'user'・'content':'%s'}]"
  })
  void route_ofAnyApi_seesItsPrompt(String path, String field, String value) throws Exception {
    String prompt = value.formatted(LONG).replace('\'', '"').replace('・', ',');
    String quoted = prompt.startsWith("[") ? prompt : "\"" + prompt.replace("\"", "") + "\"";

    HttpResponse<String> response = router.post(path, "{\"model\":\"m\",\"" + field + "\":" + quoted + "}");

    DecisionRequest asked = Objects.requireNonNull(router.cells.requests.poll());
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(asked.prompt().chain().length()).isPositive();
  }

  @Test
  void route_unknownModel_speaksTheApisLanguage() throws Exception {
    HttpResponse<String> response =
        router.post("/v1/route/v1/messages", "{\"model\":\"x\",\"messages\":[]}");

    assertThat(response.statusCode()).isEqualTo(404);
    assertThat(JSON.readTree(response.body()).path("type").asText()).isEqualTo("error");
  }

  @Test
  void route_bodyOfNoApi_asksForThePath() throws Exception {
    HttpResponse<String> response = router.post("/v1/route", "{\"model\":\"m\"}");

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.body()).contains("unknown_api", "/v1/route/v1/embeddings");
  }

  @ParameterizedTest
  @CsvSource({"GET, /v1/route, 405", "POST, /v1/route/nowhere, 404", "POST, /v1/route/v1/route, 404"})
  void route_askedWrongly_saysSo(String method, String path, int status) throws Exception {
    assertThat(router.send(method, path, "{\"model\":\"m\"}").statusCode()).isEqualTo(status);
    assertThat(served).hasValue(0);
  }
}
