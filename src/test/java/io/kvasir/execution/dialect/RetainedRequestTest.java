package io.kvasir.execution.dialect;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.routing.Retention;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The sessions that SGLang 0.5.23 knows, as its {@code entrypoints/openai/protocol.py} reads them. */
final class RetainedRequestTest {
  private static @Nullable EngineRequest request(Retention retention, String target, String body) {
    return RetainedRequest.of(retention, target, body.getBytes(StandardCharsets.UTF_8), "acme/agent \"7\"");
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "/v1/chat/completions?x=1 | {\"model\": \"m\", \"seed\": 1e400}",
      "/v1/completions          | {\"model\": \"m\", \"session_id\": \"7\", \"seed\": 1e400}",
      "/v1/responses            | {\"model\": \"m\", \"session_id\": null, \"session_params\": null, \"seed\": 1e400}",
      "/generate                | {\"model\": \"m\", \"seed\": 1e400}"})
  void request_isOneOfTheProgramsSession_andKeepsTheRest(String target, String body) {
    EngineRequest request = requireNonNull(request(Retention.SGLANG, target, body));
    JsonMembers members = JsonMembers.of(request.body());
    assertThat(target).startsWith(request.path());
    assertThat(members.value("session_id").textValue()).isEqualTo("acme/agent \"7\"");
    assertThat(members.json("seed")).isEqualTo("1e400");
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "/v1/messages         | {\"model\": \"m\"}",
      "/v1/embeddings       | {\"model\": \"m\"}",
      "/v1/chat/completions | {\"session_params\": {\"id\": \"1\"}}",
      "/v1/chat/completions | not JSON"})
  void request_thatCanHaveNone_staysAsItIs(String path, String body) {
    assertThat(request(Retention.SGLANG, path, body)).isNull();
  }

  @Test
  void engineThatKnowsNone_getsNone() {
    assertThat(request(Retention.NONE, "/v1/chat/completions", "{}")).isNull();
  }
}
