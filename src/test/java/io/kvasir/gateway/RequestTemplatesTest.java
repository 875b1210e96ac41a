package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.http.client.ScriptedPod;
import java.net.http.HttpResponse;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests with a chat template of their own. */
final class RequestTemplatesTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @ParameterizedTest
  @ValueSource(strings = {
    "/v1/chat/completions", "/v1/embeddings", "/v1/route", "/v1/route/v1/chat/completions", "/v1/route/v1/embeddings"
  })
  void answer_ownTemplate_is400AndReachesNoWorker(String path) throws Exception {
    AtomicInteger served = new AtomicInteger();
    try (TestRouter router = new TestRouter();
        ScriptedPod pod = new ScriptedPod((request, out) -> {
          served.incrementAndGet();
          out.json(200, "{}");
        })) {
      router.cells.worker("w0", pod.url(), "m");
      HttpResponse<String> response = router.post(
          path,
          "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],"
              + "\"chat_template\":\"{{ ('<'*60000)|striptags }}\"}");
      JsonNode error = JSON.readTree(response.body()).path("error");
      assertThat(response.statusCode()).isEqualTo(400);
      assertThat(error.path("type").asText()).isEqualTo("invalid_request_error");
      assertThat(error.path("param").asText()).isEqualTo("chat_template");
      assertThat(error.path("code").asText()).isEqualTo("chat_template_refused");
      assertThat(error.path("message").asText()).contains("request-templates", "--trust-request-chat-template");
      assertThat(served).hasValue(0);
      assertThat(router.cells.open).hasValue(0);
    }
  }
}
