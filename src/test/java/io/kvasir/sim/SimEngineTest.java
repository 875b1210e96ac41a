package io.kvasir.sim;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.settings.CachedTokensUsage;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What every client sees of an engine: OpenAI's API as vLLM serves it. */
final class SimEngineTest extends EngineTest {
  private static final String LONG_TEXT =
      "The cache keeps what was read once so that nobody reads it again. ".repeat(40);

  @Test
  void chat_whole_hasVllmsShape() throws Exception {
    SimEngine engine = start(settings());

    JsonNode answer = ask(engine, "/v1/chat/completions", chat("Hello").put("max_tokens", 8).toString());

    assertThat(answer.path("object").asText()).isEqualTo("chat.completion");
    assertThat(answer.at("/choices/0/message").fieldNames()).toIterable().as("as vLLM 0.32 has them, without calls")
        .containsExactly("role", "content", "refusal", "annotations", "audio", "function_call", "reasoning");
    assertThat(answer.path("id").asText()).startsWith("chatcmpl-");
    assertThat(answer.path("model").asText()).isEqualTo("kvasir-demo");
    assertThat(answer.at("/choices/0/message/role").asText()).isEqualTo("assistant");
    assertThat(answer.at("/choices/0/message/content").asText()).matches("[A-Z][a-z]*( [a-z]+)+\\.?.*");
    assertThat(answer.at("/choices/0/finish_reason").asText()).isEqualTo("length");
    assertThat(answer.at("/usage/completion_tokens").asInt()).isEqualTo(8);
    assertThat(answer.at("/usage/total_tokens").asInt()).isEqualTo(answer.at("/usage/prompt_tokens").asInt() + 8);
    assertThat(answer.at("/usage/prompt_tokens_details/cached_tokens").asInt(-1)).isZero();
  }

  @Test
  void chat_streamed_hasVllmsChunks() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = chat("Hello").put("max_tokens", 8).put("stream", true);
    request.putObject("stream_options").put("include_usage", true);

    HttpResponse<String> response = post(engine, "/v1/chat/completions", request.toString(), "x-request-id", "r1");

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("content-type")).contains("text/event-stream; charset=utf-8");
    assertThat(response.body()).endsWith("data: [DONE]\n\n");
    List<JsonNode> chunks = events(response.body());
    assertThat(chunks).allMatch(chunk -> chunk.path("id").asText().equals("chatcmpl-r1"));
    assertThat(chunks).allMatch(chunk -> chunk.path("object").asText().equals("chat.completion.chunk"));
    assertThat(chunks.getFirst().at("/choices/0/delta").toString())
        .isEqualTo("{\"role\":\"assistant\",\"content\":\"\"}");
    assertThat(chunks.getLast().path("choices")).isEmpty();
    assertThat(chunks.getLast().at("/usage/completion_tokens").asInt()).isEqualTo(8);
    assertThat(chunks.get(chunks.size() - 2).at("/choices/0/finish_reason").asText()).isEqualTo("length");

    JsonNode whole = ask(engine, "/v1/chat/completions", chat("Hello").put("max_tokens", 8).toString());
    assertThat(content(chunks)).isEqualTo(whole.at("/choices/0/message/content").asText());
  }

  @Test
  void chat_withoutLimit_endsByItself() throws Exception {
    SimEngine engine = start(settings());

    JsonNode answer = ask(engine, "/v1/chat/completions", chat("Tell me something").toString());

    assertThat(answer.at("/choices/0/finish_reason").asText()).isEqualTo("stop");
    assertThat(answer.at("/choices/0/message/content").asText()).endsWith(".");
  }

  @Test
  void chat_answerComesBackAsHistory_hitsItsBlocks() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode first = chat("Tell me a long story").put("max_tokens", 200).put("ignore_eos", true);
    JsonNode answer = ask(engine, "/v1/chat/completions", first.toString());
    int told = answer.at("/usage/prompt_tokens").asInt() + 200;

    ObjectNode second = first.deepCopy();
    ((ArrayNode) second.path("messages")).addObject()
        .put("role", "assistant").put("content", answer.at("/choices/0/message/content").asText());
    ((ArrayNode) second.path("messages")).addObject().put("role", "user").put("content", "Go on");
    JsonNode next = ask(engine, "/v1/chat/completions", second.toString());

    // the last token of an answer is never computed, so it is in no block
    assertThat(cached(next)).isEqualTo((told - 1) / 16 * 16);
  }

  @Test
  void completion_repeated_leavesOneTokenToCompute() throws Exception {
    SimEngine engine = start(settings());
    int[] prompt = IntStream.range(100, 164).toArray();

    JsonNode cold = ask(engine, "/v1/completions", completion(prompt).toString());
    JsonNode warm = ask(engine, "/v1/completions", completion(prompt).toString());

    assertThat(cold.at("/usage/prompt_tokens").asInt()).isEqualTo(64);
    assertThat(cold.at("/usage/completion_tokens").asInt()).isEqualTo(16);
    assertThat(cached(cold)).isZero();
    assertThat(cached(warm)).isEqualTo(48);
    assertThat(warm.path("object").asText()).isEqualTo("text_completion");
    assertThat(warm.at("/choices/0/text").asText()).isEqualTo(cold.at("/choices/0/text").asText());
  }

  @Test
  void completion_ofOtherTenantOrAdapter_sharesNothing() throws Exception {
    SimEngine engine = start(settings().loras(List.of("poet")));
    String prompt = LONG_TEXT;

    ask(engine, "/v1/completions", text(prompt).toString());
    JsonNode salted = ask(engine, "/v1/completions", text(prompt).put("cache_salt", "tenant-a").toString());
    JsonNode saltedAgain = ask(engine, "/v1/completions", text(prompt).put("cache_salt", "tenant-a").toString());
    JsonNode adapted = ask(engine, "/v1/completions", text(prompt).put("model", "poet").toString());
    JsonNode plain = ask(engine, "/v1/completions", text(prompt).toString());

    assertThat(cached(salted)).isZero();
    assertThat(cached(saltedAgain)).isPositive();
    assertThat(cached(adapted)).isZero();
    assertThat(cached(plain)).isEqualTo(cached(saltedAgain));
  }

  @Test
  void completion_manyPromptsAndChoices_answersEach() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = JSON.createObjectNode().put("model", "kvasir-demo").put("n", 2).put("max_tokens", 5);
    request.putArray("prompt").add("One two three").add("Four five six");

    JsonNode answer = ask(engine, "/v1/completions", request.toString());

    assertThat(answer.path("choices")).hasSize(4);
    List<String> texts = new ArrayList<>();
    answer.path("choices").forEach(choice -> texts.add(choice.path("text").asText()));
    assertThat(texts).doesNotHaveDuplicates();
    assertThat(answer.at("/usage/completion_tokens").asInt()).isEqualTo(20);
  }

  @Test
  void answer_toPromptAndHalfTheAnswer_isTheOtherHalf() throws Exception {
    SimEngine engine = start(settings());
    SimEngine other = start(settings().seed(7));
    ObjectNode request = completion(IntStream.range(0, 40).toArray())
        .put("max_tokens", 30).put("ignore_eos", true).put("return_token_ids", true);
    JsonNode whole = ask(engine, "/v1/completions", request.toString());

    ArrayNode longer = (ArrayNode) request.path("prompt");
    for (int i = 0; i < 12; i++) {
      longer.add(whole.at("/choices/0/token_ids").get(i));
    }
    JsonNode rest = ask(other, "/v1/completions", request.put("max_tokens", 18).toString());

    assertThat(whole.at("/choices/0/text").asText()).endsWith(rest.at("/choices/0/text").asText());
    assertThat(rest.at("/choices/0/token_ids")).hasSize(18);
  }

  @Test
  void responses_streamed_numbersItsEvents() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = JSON.createObjectNode().put("input", "Hello").put("max_output_tokens", 6).put("stream", true);

    String stream = post(engine, "/v1/responses", request.toString()).body();

    assertThat(stream).doesNotContain("[DONE]");
    List<JsonNode> events = events(stream);
    for (int i = 0; i < events.size(); i++) {
      assertThat(events.get(i).path("sequence_number").asInt()).isEqualTo(i);
    }
    assertThat(events.getFirst().path("type").asText()).isEqualTo("response.created");
    JsonNode last = events.getLast();
    assertThat(last.path("type").asText()).isEqualTo("response.completed");
    assertThat(last.at("/response/usage/output_tokens").asInt()).isEqualTo(6);
    assertThat(last.at("/response/output/0/content/0/text").asText()).isNotEmpty();
  }

  @Test
  void responses_whole_readsTheSamePromptAsChat() throws Exception {
    SimEngine engine = start(settings());
    ask(engine, "/v1/chat/completions", chat(LONG_TEXT).put("max_tokens", 2).toString());

    ObjectNode request = JSON.createObjectNode().put("input", LONG_TEXT).put("max_output_tokens", 2);
    JsonNode answer = ask(engine, "/v1/responses", request.toString());

    assertThat(answer.path("object").asText()).isEqualTo("response");
    assertThat(answer.at("/usage/input_tokens_details/cached_tokens").asInt()).isPositive();
  }

  @Test
  void messages_streamed_hasAnthropicsEvents() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = chat("Hello").put("max_tokens", 6).put("stream", true).put("system", "Be brief");

    String stream = post(engine, "/v1/messages", request.toString()).body();

    assertThat(stream.lines().filter(line -> line.startsWith("event: ")).distinct())
        .containsExactly(
            "event: message_start", "event: content_block_start", "event: content_block_delta",
            "event: content_block_stop", "event: message_delta", "event: message_stop");
    assertThat(stream).doesNotContain("[DONE]");
    JsonNode delta = events(stream).get(events(stream).size() - 2);
    assertThat(delta.at("/delta/stop_reason").asText()).isEqualTo("max_tokens");
    assertThat(delta.at("/usage/output_tokens").asInt()).isEqualTo(6);
  }

  /** But for fields that are absent or of another type, which the server's framework refuses. */
  @Test
  void messages_thatAreRefused_areSoInAnthropicsShape() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = chat("Hello").put("max_tokens", 5).put("temperature", 3);

    HttpResponse<String> response = post(engine, "/v1/messages", request.toString());

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(JSON.readTree(response.body()).path("type").asText()).isEqualTo("error");
    assertThat(JSON.readTree(response.body()).at("/error/message").asText()).contains("temperature");
  }

  @Test
  void embeddings_ofTwoInputs_areUnitVectors() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = JSON.createObjectNode().put("dimensions", 8);
    request.putArray("input").add("One").add("Two");

    JsonNode answer = ask(engine, "/v1/embeddings", request.toString());

    assertThat(answer.path("data")).hasSize(2);
    double length = 0;
    for (JsonNode value : answer.at("/data/0/embedding")) {
      length += value.asDouble() * value.asDouble();
    }
    assertThat(length).isBetween(0.999, 1.001);
    assertThat(answer.at("/data/0/embedding")).isNotEqualTo(answer.at("/data/1/embedding"));
    assertThat(answer.at("/usage/prompt_tokens").asInt()).isPositive();
  }

  @Test
  void embeddings_ofSimilarTexts_areNear() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = JSON.createObjectNode();
    request.putArray("input")
        .add("Please write a python function that sorts numbers")
        .add("Please write a python function that sorts names")
        .add("What was the weather in Lisbon like?");

    JsonNode answer = ask(engine, "/v1/embeddings", request.toString());
    JsonNode again = ask(engine, "/v1/embeddings", request.toString());

    assertThat(again.path("data")).isEqualTo(answer.path("data"));
    assertThat(cosine(answer, 0, 1)).isGreaterThan(0.7);
    assertThat(cosine(answer, 0, 2)).isLessThan(0.4);
  }

  private static double cosine(JsonNode answer, int one, int other) {
    double product = 0;
    for (int i = 0; i < answer.at("/data/0/embedding").size(); i++) {
      product +=
          answer.at("/data/" + one + "/embedding/" + i).asDouble()
              * answer.at("/data/" + other + "/embedding/" + i).asDouble();
    }
    return product;
  }

  @Test
  void tokenize_chatAndText_countWhatAnswersCost() throws Exception {
    SimEngine engine = start(settings());

    JsonNode chat = ask(engine, "/tokenize", chat("Hello there").toString());
    JsonNode text = ask(engine, "/tokenize", JSON.createObjectNode().put("prompt", "Hello there").toString());
    JsonNode answer = ask(engine, "/v1/chat/completions", chat("Hello there").put("max_tokens", 1).toString());
    JsonNode back = ask(
        engine, "/detokenize", JSON.createObjectNode().<ObjectNode>set("tokens", text.path("tokens")).toString());

    assertThat(chat.path("count").asInt()).isEqualTo(answer.at("/usage/prompt_tokens").asInt());
    assertThat(text.path("count").asInt()).isEqualTo(text.path("tokens").size());
    assertThat(text.path("max_model_len").asInt()).isEqualTo(512 * 16);
    assertThat(back.path("prompt").asText()).isEqualTo("Hello there");
  }

  @Test
  void tokenize_ofConversationWithTools_isTheTemplatesText() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = chat("Hello");
    JsonNode plain = ask(engine, "/tokenize", request.toString());
    request.putArray("tools").addObject().put("type", "function").putObject("function").put("name", "look_up");
    JsonNode tools = ask(engine, "/tokenize", request.toString());

    assertThat(text(engine, plain)).isEqualTo("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n");
    assertThat(text(engine, tools)).contains("look_up").endsWith("<|im_start|>assistant\n");
  }

  @Test
  void models_withAdapters_nameTheirParent() throws Exception {
    SimEngine engine = start(settings().loras(List.of("poet")));

    JsonNode models = JSON.readTree(get(engine, "/v1/models").body());

    assertThat(models.at("/data/0/id").asText()).isEqualTo("kvasir-demo");
    assertThat(models.at("/data/0/max_model_len").asInt()).isEqualTo(512 * 16);
    assertThat(models.at("/data/1/parent").asText()).isEqualTo("kvasir-demo");
  }

  @Test
  void operations_ofAnIdleEngine_answer() throws Exception {
    SimEngine engine = start(settings());

    assertThat(get(engine, "/health").statusCode()).isEqualTo(200);
    assertThat(get(engine, "/health").body()).isEmpty();
    assertThat(JSON.readTree(get(engine, "/version").body()).path("version").asText()).isNotEmpty();
    assertThat(JSON.readTree(get(engine, "/load").body()).path("server_load").asInt(-1)).isZero();
    assertThat(ask(engine, "/reset_prefix_cache", "").path("success").asBoolean()).isTrue();
  }

  @Test
  void sglangsLoads_areOfEachRank() throws Exception {
    SimEngine engine = start(settings().api(EngineApi.SGLANG).ranks(2));

    JsonNode loads = JSON.readTree(get(engine, "/v1/loads?include=core").body()).path("loads");
    assertThat(loads).hasSize(2);
    assertThat(loads.at("/1/dp_rank").asInt()).isEqualTo(1);
    assertThat(loads.at("/1/num_running_reqs").isInt()).isTrue();
    assertThat(loads.at("/1/max_total_num_tokens").asInt()).isEqualTo(512 * 16);
    assertThat(get(engine, "/v1/loads?format=prometheus").body())
        .contains("# TYPE sglang_token_usage gauge\n", "sglang_num_waiting_reqs{dp_rank=\"1\"} 0\n");
    assertThat(get(start(settings()), "/v1/loads").statusCode()).isEqualTo(404);
  }

  @Test
  void metrics_afterWarmRequest_haveVllmsNames() throws Exception {
    SimEngine engine = start(settings());
    ask(engine, "/v1/completions", text(LONG_TEXT).toString());
    JsonNode warm = ask(engine, "/v1/completions", text(LONG_TEXT).toString());

    await("the metrics count both requests", () -> metrics(engine).contains("vllm:request_success_total{"
        + "engine=\"0\",finished_reason=\"length\",model_name=\"kvasir-demo\"} 2.0"));
    String page = metrics(engine);
    String labels = "{engine=\"0\",model_name=\"kvasir-demo\"} ";
    assertThat(page)
        .contains("vllm:num_requests_running" + labels + "0.0")
        .contains("vllm:num_requests_waiting" + labels + "0.0")
        .contains("vllm:kv_cache_usage_perc" + labels + "0.0")
        .contains("vllm:prefix_cache_hits_total" + labels + cached(warm) + ".0")
        .contains("vllm:generation_tokens_total" + labels + "32.0")
        .contains("vllm:time_to_first_token_seconds_count" + labels + "2")
        .contains("vllm:cache_config_info{block_size=\"16\"")
        .contains("num_gpu_blocks=\"512\"");
  }

  @Test
  void errors_areInVllmsShape() throws Exception {
    SimEngine engine = start(settings());

    error(post(engine, "/v1/completions", text("x").put("model", "other").toString()), 404, "NotFoundError", "other");
    error(post(engine, "/v1/completions", text("x").put("max_tokens", 99_999).toString()), 400, "BadRequestError",
        "8192");
    error(post(engine, "/v1/completions", completion(new int[8193]).toString()), 400, "BadRequestError", "8192");
    error(post(engine, "/v1/completions", completion(new int[8192]).toString()), 400, "BadRequestError",
        "max_tokens must be at least 1, got 0.");
  }

  @Test
  void usage_whenNotReported_hasNoDetails() throws Exception {
    SimEngine engine = start(settings().cachedTokens(CachedTokensUsage.NEVER));
    ObjectNode request = text("Hello").put("stream", true);
    request.putObject("stream_options").put("include_usage", true);

    JsonNode whole = ask(engine, "/v1/completions", text("Hello").toString());
    List<JsonNode> chunks = events(post(engine, "/v1/completions", request.toString()).body());

    assertThat(whole.at("/usage/prompt_tokens_details").isNull()).isTrue();
    assertThat(chunks.getLast().path("usage").has("prompt_tokens_details")).isFalse();
  }

  @Test
  void usage_thatTellsOfWhatWasFoundAlone_hasNoDetailsOfNothing() throws Exception {
    SimEngine engine = start(settings().cachedTokens(CachedTokensUsage.FOUND));

    JsonNode first = ask(engine, "/v1/completions", text(LONG_TEXT).toString());
    JsonNode second = ask(engine, "/v1/completions", text(LONG_TEXT).toString());

    assertThat(first.at("/usage/prompt_tokens_details").isNull()).isTrue();
    assertThat(second.at("/usage/prompt_tokens_details/cached_tokens").asInt()).isPositive();
  }

  /** Of two equal requests, what the first and the second say of cached tokens. */
  @ParameterizedTest
  @CsvSource({
    "VLLM, ALWAYS, true, true", "VLLM, FOUND, false, false", "VLLM, NEVER, false, false",
    "SGLANG, ALWAYS, false, true", "SGLANG, FOUND, false, true", "SGLANG, NEVER, false, false",
  })
  void messages_tellOfCachedTokens_asTheEngineDoes(EngineApi api, CachedTokensUsage told, boolean none, boolean some)
      throws Exception {
    SimEngine engine = start(settings().api(api).cachedTokens(told));
    String request = chat(LONG_TEXT).put("max_tokens", 1).toString();

    JsonNode first = ask(engine, "/v1/messages", request).path("usage");
    JsonNode second = ask(engine, "/v1/messages", request).path("usage");

    assertThat(first.has("cache_read_input_tokens")).isEqualTo(none);
    assertThat(first.path("cache_read_input_tokens").asInt()).isZero();
    assertThat(second.has("cache_read_input_tokens")).isEqualTo(some);
    assertThat(second.path("cache_read_input_tokens").asInt() + second.path("input_tokens").asInt())
        .isEqualTo(first.path("input_tokens").asInt());
  }

  @Test
  void rank_namedByHeader_keepsItsOwnCache() throws Exception {
    SimEngine engine = start(settings().ranks(2));
    String body = text(LONG_TEXT).toString();

    ask(engine, "/v1/completions", body, "X-data-parallel-rank", "1");
    JsonNode other = ask(engine, "/v1/completions", body, "X-data-parallel-rank", "0");
    JsonNode same = ask(engine, "/v1/completions", body, "X-data-parallel-rank", "1");

    assertThat(cached(other)).isZero();
    assertThat(cached(same)).isPositive();
  }

  @Test
  void rank_ofAResponse_isNotTheHeaders() throws Exception {
    SimEngine engine = start(settings().ranks(2));
    ObjectNode request = JSON.createObjectNode().put("input", LONG_TEXT).put("max_output_tokens", 2);

    ask(engine, "/v1/responses", request.toString(), "X-data-parallel-rank", "1");
    String chat = chat(LONG_TEXT).put("max_tokens", 2).toString();

    assertThat(cached(ask(engine, "/v1/chat/completions", chat, "X-data-parallel-rank", "0"))).isPositive();
  }

  @Test
  void manyAtOnce_inASmallCache_allEnd() throws Exception {
    SimEngine engine = start(settings().capacityBlocks(24).maxSequences(8));
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      ObjectNode request = text("Request number " + i + " of many").put("max_tokens", 60).put("ignore_eos", true);
      answers.add(CLIENT.sendAsync(
          request(engine, "/v1/completions", request.toString()), HttpResponse.BodyHandlers.ofString()));
    }

    for (CompletableFuture<HttpResponse<String>> answer : answers) {
      assertThat(JSON.readTree(answer.get().body()).at("/usage/completion_tokens").asInt()).isEqualTo(60);
    }
    await("all blocks are free", () -> metrics(engine).contains("kv_cache_usage_perc{engine=\"0\","
        + "model_name=\"kvasir-demo\"} 0.0"));
  }

  @Test
  void start_withFaults_namesThemAll() {
    SimSettings wrong =
        settings().blockSize(0).speed(-1).engine("h900").ranks(0).build();

    assertThatThrownBy(() -> SimEngine.start(wrong))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("block-size")
        .hasMessageContaining("speed")
        .hasMessageContaining("h900")
        .hasMessageContaining("ranks");
  }

  @Test
  void start_onTakenPort_namesIt() throws Exception {
    SimEngine engine = start(settings());

    assertThatThrownBy(() -> start(settings().port(engine.url().getPort())))
        .isInstanceOf(IOException.class)
        .hasMessageContaining(Integer.toString(engine.url().getPort()));
  }

  private static void error(HttpResponse<String> response, int status, String type, String contains)
      throws IOException {
    assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
    JsonNode error = JSON.readTree(response.body()).path("error");
    assertThat(error.path("code").asInt()).isEqualTo(status);
    assertThat(error.path("type").asText()).isEqualTo(type);
    assertThat(error.path("message").asText()).contains(contains);
    assertThat(error.has("param")).isTrue();
  }

  private static String metrics(SimEngine engine) throws Exception {
    return get(engine, "/metrics").body();
  }

  private static String text(SimEngine engine, JsonNode tokenized) throws Exception {
    ObjectNode request = JSON.createObjectNode().set("tokens", tokenized.path("tokens"));
    return ask(engine, "/detokenize", request.toString()).path("prompt").asText();
  }

  private static int cached(JsonNode answer) {
    return answer.at("/usage/prompt_tokens_details/cached_tokens").asInt(-1);
  }

  private static String content(List<JsonNode> chunks) {
    StringBuilder text = new StringBuilder();
    chunks.forEach(chunk -> text.append(chunk.at("/choices/0/delta/content").asText("")));
    return text.toString();
  }

  private static ObjectNode chat(String said) {
    ObjectNode request = JSON.createObjectNode().put("model", "kvasir-demo");
    request.putArray("messages").addObject().put("role", "user").put("content", said);
    return request;
  }

  private static ObjectNode text(String prompt) {
    return JSON.createObjectNode().put("model", "kvasir-demo").put("prompt", prompt);
  }

  private static ObjectNode completion(int[] prompt) {
    ObjectNode request = JSON.createObjectNode().put("model", "kvasir-demo");
    ArrayNode tokens = request.putArray("prompt");
    for (int token : prompt) {
      tokens.add(token);
    }
    return request;
  }
}
