package io.kvasir.app.warmup;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the engine of a warm-up answers. */
final class LoopbackEngineTest {
  private final LoopbackEngine engine;
  private final HttpClient client = HttpClient.newHttpClient();

  LoopbackEngineTest() throws IOException {
    this.engine = new LoopbackEngine();
  }

  @AfterEach
  void close() {
    client.close();
    engine.close();
  }

  @ParameterizedTest
  @CsvSource({
    "/v1/chat/completions, chat.completion, [DONE]",
    "/v1/messages, end_turn, message_stop",
    "/v1/responses, output_text, response.completed",
    "/v1/completions, text_completion, [DONE]"
  })
  void eachApi_hasItsAnswer_wholeAndStreamed(String path, String whole, String streamed) throws Exception {
    HttpResponse<String> one = post(path, "{\"stream\":false}");
    assertThat(one.statusCode()).isEqualTo(200);
    assertThat(one.body()).contains(whole);

    HttpResponse<String> many = post(path, "{\"stream\":true}");
    assertThat(many.headers().firstValue("content-type")).hasValueSatisfying(
        type -> assertThat(type).startsWith("text/event-stream"));
    assertThat(many.body()).contains(streamed);
  }

  @Test
  void otherPaths_haveNone() throws Exception {
    assertThat(post("/v1/chat/completions/1", "{}").statusCode()).isEqualTo(404);
  }

  private HttpResponse<String> post(String path, String body) throws IOException, InterruptedException {
    return client.send(
        HttpRequest.newBuilder(engine.url().resolve(path)).POST(BodyPublishers.ofString(body)).build(),
        BodyHandlers.ofString());
  }
}
