package io.kvasir.sim;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.sim.settings.EngineApi;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is wrong with a request is told with vLLM's status, shape and words. */
final class RefusalsTest extends EngineTest {
  private static final Path RECORDED = Path.of("src/test/resources/io/kvasir/sim/vllm-refusals.txt");

  /** A request that vLLM 0.32.0 was sent, and what it answered. */
  private record Refusal(String request, int status, String body) {}

  @Test
  void requestsThatAreWrong_areRefusedAsByVllm() throws Exception {
    SimEngine engine = start(settings().model("m"));
    List<Refusal> recorded = recorded();

    assertThat(recorded).hasSizeGreaterThan(80);
    for (Refusal refusal : recorded) {
      HttpResponse<String> response = send(engine, refusal.request());

      assertThat(response.statusCode()).as(refusal.request()).isEqualTo(refusal.status());
      assertThat(JSON.readTree(response.body())).as(refusal.request()).isEqualTo(JSON.readTree(refusal.body()));
    }
  }

  @Test
  void otherMethod_namesThoseThatThereAre() throws Exception {
    SimEngine engine = start(settings());

    HttpResponse<String> response = get(engine, "/v1/chat/completions");

    assertThat(response.statusCode()).isEqualTo(405);
    assertThat(response.headers().firstValue("allow")).contains("POST");
  }

  @Test
  void moreThanTheContext_isRefused_andLessIsCut() throws Exception {
    SimEngine engine = start(settings().maxModelLen(100));
    String request = "{\"prompt\":\"One two three\",\"ignore_eos\":true,\"max_tokens\":%d}";

    JsonNode beyond = ask(engine, "/v1/completions", request.formatted(101)).path("error");
    JsonNode within = ask(engine, "/v1/completions", request.formatted(100)).path("usage");

    assertThat(beyond.path("message").asText()).isEqualTo(
        "max_tokens=101 cannot be greater than max_model_len=100. Please request fewer output tokens. "
            + "(parameter=max_tokens, value=101)");
    assertThat(within.path("total_tokens").asInt()).isEqualTo(100);
  }

  @Test
  void tooManyLogprobs_areRefused() throws Exception {
    SimEngine engine = start(settings());
    String request = "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"logprobs\":true,\"top_logprobs\":21}";

    assertThat(ask(engine, "/v1/chat/completions", request).at("/error/message").asText()).isEqualTo(
        "Requested sample logprobs of 21, which is greater than max allowed: 20 (parameter=logprobs, value=21)");
  }

  @Test
  void otherEngines_haveFlatErrors() throws Exception {
    SimEngine engine = start(settings().api(EngineApi.SGLANG));

    JsonNode error = ask(engine, "/v1/completions", "{\"prompt\":\"x\",\"temperature\":3}");

    assertThat(error.path("object").asText()).isEqualTo("error");
    assertThat(error.path("message").asText()).startsWith("temperature must be in [0, 2]");
  }

  private static List<Refusal> recorded() throws IOException {
    List<String> lines = Files.readAllLines(RECORDED).stream().filter(line -> !line.startsWith("#")).toList();
    List<Refusal> refusals = new ArrayList<>();
    for (int i = 0; i + 1 < lines.size(); i += 2) {
      String[] answer = lines.get(i + 1).strip().split(" ", 2);
      refusals.add(new Refusal(lines.get(i), Integer.parseInt(answer[0]), answer[1]));
    }
    return refusals;
  }

  private static HttpResponse<String> send(SimEngine engine, String line) throws Exception {
    String[] parts = line.split(" ", 3);
    String method = parts[0].equals("TEXT") || parts[0].equals("NOCT") ? "POST" : parts[0];
    HttpRequest.Builder request = HttpRequest.newBuilder(engine.url().resolve(parts[1]))
        .method(method, HttpRequest.BodyPublishers.ofString(parts.length == 3 ? parts[2] : ""));
    if (!parts[0].equals("NOCT")) {
      request.header("content-type", parts[0].equals("TEXT") ? "text/plain" : "application/json");
    }
    return CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }
}
