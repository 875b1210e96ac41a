package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ExplainHandlerTest {
  private final List<Exchange> asked = new ArrayList<>();
  private final ExplainHandler handler = new ExplainHandler(this::answer);

  @Test
  void request_isAskedAsAClientWould_andOncePerProfile() throws IOException {
    JsonNode answer =
        explained(
            """
            {"path": "/v1/chat/completions", "headers": {"X-Session-ID": "s"}, "body": {"model": "m", "messages": []},
             "compare": ["a", "b", "a"]}
            """, 200);

    assertThat(answer.path("profile").asText()).isEqualTo("usual");
    assertThat(answer.at("/compared/a/profile").asText()).isEqualTo("a");
    assertThat(answer.at("/compared/b/profile").asText()).isEqualTo("b");
    assertThat(asked).hasSize(3).allSatisfy(each -> {
      assertThat(each.method()).isEqualTo("POST");
      assertThat(each.path()).isEqualTo("/v1/chat/completions");
      assertThat(each.headers().first("X-Session-ID")).isEqualTo("s");
      assertThat(new String(each.body(), StandardCharsets.UTF_8)).isEqualTo("{\"model\":\"m\",\"messages\":[]}");
    });
  }

  @Test
  void administratorsOwnKey_isNotTheClients() throws IOException {
    explained("{\"path\": \"/v1/completions\", \"body\": {}}", 200);

    assertThat(asked.getFirst().headers().has("Authorization")).isFalse();
  }

  @Test
  void whatTheGatewayRefuses_isRefused() throws IOException {
    assertThat(explained("{\"path\": \"/v1/completions\", \"body\": {}, \"profile\": \"none\"}", 400)
        .at("/error/message").asText()).isEqualTo("There is no profile 'none'.");
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
    "{'body': {}}                                          | path",
    "{'path': 'v1', 'body': {}}                            | path",
    "{'path': '/v1/route/v1/completions', 'body': {}}      | path",
    "{'path': '/v1/completions'}                           | body",
    "{'path': '/v1/completions', 'body': []}               | body",
    "{'path': '/p', 'body': {}, 'headers': []}             | headers",
    "{'path': '/p', 'body': {}, 'headers': {'A B': 'c'}}   | headers",
    "{'path': '/p', 'body': {}, 'headers': {'A': 'b\\nc'}} | headers",
    "{'path': '/p', 'body': {}, 'profile': 3}              | profile",
    "{'path': '/p', 'body': {}, 'compare': 'a'}            | compare",
    "{'path': '/p', 'body': {}, 'compare': ['1','2','3','4','5','6','7','8','9']} | compare",
    "{'path': '/p', 'body': {}, 'bodies': 1}               | bodies"
  })
  void whatIsAskedWrongly_isTold(String body, String field) throws IOException {
    assertThat(explained(body.replace('\'', '"'), 400).at("/error/field").asText()).isEqualTo(field);
    assertThat(asked).isEmpty();
  }

  private JsonNode explained(String body, int status) throws IOException {
    return TestAdmin.call(handler, "POST", "/admin/explain", body, status);
  }

  private Response answer(Exchange request, @Nullable String profile) {
    asked.add(request);
    String body =
        "none".equals(profile)
            ? "{\"error\":{\"message\":\"There is no profile 'none'.\"}}"
            : """
              {"kind":"decision","model":"m","profile":"%s","reason":"r","plan":[],"passes":[]}
              """.formatted(profile == null ? "usual" : profile);
    return new Response.Buffered(
        "none".equals(profile) ? 400 : 200, Headers.EMPTY, body.getBytes(StandardCharsets.UTF_8));
  }
}
