package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.http.StreamResponse;
import com.openai.errors.BadRequestException;
import com.openai.errors.NotFoundException;
import com.openai.errors.OpenAIServiceException;
import com.openai.errors.RateLimitException;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.embeddings.CreateEmbeddingResponse;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.models.Model;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import io.kvasir.cell.Decision;
import io.kvasir.http.client.ScriptedPod;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The client our users have, unchanged but for its address. */
final class OpenAiClientTest {
  private TestRouter router;
  private ScriptedPod pod;
  private OpenAIClient client;

  @BeforeEach
  void start() throws IOException {
    router = new TestRouter();
    pod = new ScriptedPod((request, out) -> out.json(500, "{}"));
    router.cells.worker("w0", pod.url(), "m");
    client = OpenAIOkHttpClient.builder()
        .baseUrl(router.url("/v1").toString())
        .apiKey("key")
        .maxRetries(0)
        .build();
  }

  @AfterEach
  void stop() {
    client.close();
    router.close();
    pod.close();
  }

  @Test
  void chat() throws Exception {
    pod.script((request, out) -> out.json(200, """
        {"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,
         "message":{"role":"assistant","content":"Hello","refusal":null},"logprobs":null,"finish_reason":"stop"}],
         "usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10,
                  "prompt_tokens_details":{"cached_tokens":8}}}"""));

    ChatCompletion completion = client.chat().completions().create(chatParams());

    assertThat(completion.choices().get(0).message().content()).hasValue("Hello");
    assertThat(completion.usage().flatMap(usage -> usage.promptTokensDetails())
        .flatMap(details -> details.cachedTokens())).hasValue(8L);
    assertThat(pod.next().headers().first("Authorization")).isEqualTo("Bearer key");
  }

  @Test
  void chat_streamed() {
    pod.script((request, out) -> out.stream(List.of(
        chunk("{\"role\":\"assistant\",\"content\":\"\"}", "null"),
        chunk("{\"content\":\"Hel\"}", "null"),
        chunk("{\"content\":\"lo\"}", "null"),
        chunk("{}", "\"stop\""),
        "data: [DONE]\n\n")));

    StringBuilder text = new StringBuilder();
    try (StreamResponse<ChatCompletionChunk> stream = client.chat().completions().createStreaming(chatParams())) {
      stream.stream().forEach(chunk ->
          chunk.choices().forEach(choice -> choice.delta().content().ifPresent(text::append)));
    }

    assertThat(text).hasToString("Hello");
  }

  @Test
  void errors_ofTheWorkerAndOfTheRouter() {
    pod.script((request, out) -> out.json(
        400, "{\"error\":{\"message\":\"too long\",\"type\":\"BadRequestError\",\"param\":null,\"code\":400}}"));
    assertThatThrownBy(() -> client.chat().completions().create(chatParams()))
        .isInstanceOf(BadRequestException.class)
        .hasMessageContaining("too long");

    ChatCompletionCreateParams unknown = chatParams().toBuilder().model("unknown").build();
    assertThatThrownBy(() -> client.chat().completions().create(unknown))
        .isInstanceOfSatisfying(NotFoundException.class, error ->
            assertThat(error.code()).hasValue("model_not_found"));

    router.cells.refuse = true;
    router.cells.otherwise = Decision.NoWorkerReason.ALL_FULL;
    assertThatThrownBy(() -> client.chat().completions().create(chatParams()))
        .isInstanceOf(RateLimitException.class);
    router.cells.otherwise = Decision.NoWorkerReason.NONE_HEALTHY;
    assertThatThrownBy(() -> client.chat().completions().create(chatParams()))
        .isInstanceOfSatisfying(OpenAIServiceException.class, error ->
            assertThat(error.statusCode()).isEqualTo(503));
  }

  @Test
  void embeddings() {
    pod.script((request, out) -> out.json(200, """
        {"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5,-1.0]}],"model":"m",
         "usage":{"prompt_tokens":3,"total_tokens":3}}"""));

    CreateEmbeddingResponse response = client.embeddings().create(
        EmbeddingCreateParams.builder()
            .model("m")
            .input("x")
            .encodingFormat(EmbeddingCreateParams.EncodingFormat.FLOAT)
            .build());

    assertThat(response.data().get(0).embedding()).containsExactly(0.5f, -1.0f);
  }

  @Test
  void models() {
    router.cells.worker("w1", pod.url(), "org/other");

    assertThat(client.models().list().data()).extracting(Model::id).containsExactly("m", "org/other");
    assertThat(client.models().retrieve("org/other").id()).isEqualTo("org/other");
  }

  @Test
  void responses() {
    pod.script((request, out) -> out.json(200, """
        {"id":"resp_1","object":"response","created_at":1,"status":"completed","error":null,"model":"m",
         "incomplete_details":null,"instructions":null,"metadata":{},"parallel_tool_calls":true,"temperature":1.0,
         "tool_choice":"auto","tools":[],"top_p":1.0,"output":[{"type":"message","id":"msg_1","status":"completed",
         "role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[]}]}],
         "usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,
                  "output_tokens_details":{"reasoning_tokens":0},"total_tokens":4}}"""));

    Response response = client.responses().create(ResponseCreateParams.builder().model("m").input("x").build());

    assertThat(response.id()).isEqualTo("resp_1");
    assertThat(client.responses().retrieve("resp_1").status()).isPresent();
  }

  private static ChatCompletionCreateParams chatParams() {
    return ChatCompletionCreateParams.builder().model("m").addUserMessage("Hi").build();
  }

  private static String chunk(String delta, String finish) {
    return "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
        + "\"choices\":[{\"index\":0,\"delta\":" + delta + ",\"finish_reason\":" + finish + "}]}\n\n";
  }
}
