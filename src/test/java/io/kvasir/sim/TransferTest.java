package io.kvasir.sim;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.enginemodel.StepTime;
import io.kvasir.routing.Role;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A prefill and a decode engine, and what each family demands of whoever stands before them. */
final class TransferTest extends EngineTest {
  private static final String TEXT = "Once there was a king who counted every tree in his land. ".repeat(12);
  private static final String LONG = "A queen. " + TEXT.repeat(5);
  private static final String COMPLETIONS = "/v1/completions";
  private static final String CHAT = "/v1/chat/completions";

  private SimEngine prefill;
  private SimEngine decode;

  private void pair(TransferDialect dialect) throws IOException {
    pair(dialect, settings -> settings);
  }

  private void pair(TransferDialect dialect, UnaryOperator<TransferSettings> with) throws IOException {
    TransferSettings transfer = with.apply(TransferSettings.of(dialect));
    prefill = start(settings().seed(1).role(Role.PREFILL).transfer(transfer));
    decode = start(settings().seed(2).role(Role.DECODE).transfer(transfer));
  }

  // --- NIXL

  @ParameterizedTest
  @EnumSource(names = {"VLLM_NIXL", "VLLM_NIXL_OLD", "VLLM_PUSH"})
  void nixl_bothLegs_answerAsOneEngineWould(TransferDialect dialect) throws Exception {
    pair(dialect);
    for (String path : List.of(COMPLETIONS, CHAT, "/v1/responses", "/v1/messages")) {
      String alone = answer(path, ask(start(settings()), path, body(path).toString()));

      JsonNode params = prefilled(path, "r-" + path.length());
      ObjectNode second = body(path).set("kv_transfer_params", params);
      JsonNode disaggregated = ask(decode, path, second.toString(), "X-Request-Id", "r-" + path.length());

      assertThat(answer(path, disaggregated)).as(path).isEqualTo(alone).isNotEmpty();
    }
    assertThat(decode.transferStats().received()).isEqualTo(4);
    assertThat(decode.transferStats().ignored()).isZero();
    await("prefill's blocks are free", () -> prefill.transferStats().held() == 0
        && prefill.transferStats().sent() == 4);
    await("and its cache is idle", () -> kvUse(prefill) == 0);
  }

  @Test
  void nixl_streamedDecode_saysTheSame() throws Exception {
    pair(TransferDialect.VLLM_NIXL);
    JsonNode params = prefilled(COMPLETIONS, "s");
    ObjectNode second = body(COMPLETIONS).put("stream", true).set("kv_transfer_params", params);

    StringBuilder said = new StringBuilder();
    for (JsonNode event : events(post(decode, COMPLETIONS, second.toString(), "X-Request-Id", "s").body())) {
      said.append(event.at("/choices/0/text").asText());
    }

    assertThat(said.toString()).isEqualTo(alone(COMPLETIONS));
  }

  @Test
  void nixl_decodeEngine_holdsAndTellsTheBlocks() throws Exception {
    pair(TransferDialect.VLLM_NIXL);
    JsonNode params = prefilled(COMPLETIONS, "a");
    JsonNode first =
        ask(decode, COMPLETIONS, body(COMPLETIONS).set("kv_transfer_params", params).toString(), "X-Request-Id", "a");
    JsonNode again = ask(decode, COMPLETIONS, body(COMPLETIONS).toString());

    int prompt = first.at("/usage/prompt_tokens").asInt();
    assertThat(first.at("/usage/prompt_tokens_details/cached_tokens").asInt()).isEqualTo(prompt - 1);
    assertThat(again.at("/usage/prompt_tokens_details/cached_tokens").asInt()).isEqualTo((prompt - 1) / 16 * 16);
    assertThat(answer(COMPLETIONS, again)).isEqualTo(answer(COMPLETIONS, first));
  }

  @Test
  void nixl_paramsWorkOnce() throws Exception {
    pair(TransferDialect.VLLM_NIXL);
    String second = body(COMPLETIONS).set("kv_transfer_params", prefilled(COMPLETIONS, "a")).toString();

    assertThat(post(decode, COMPLETIONS, second, "X-Request-Id", "a").statusCode()).isEqualTo(200);
    assertThat(post(start(settings().role(Role.DECODE).transfer(TransferSettings.of(TransferDialect.VLLM_NIXL))),
            COMPLETIONS, second, "X-Request-Id", "a").statusCode()).isEqualTo(500);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"remote_engine_id", "remote_request_id", "remote_host", "remote_port"})
  void nixl_withoutAField_prefillsHere(String field) throws Exception {
    pair(TransferDialect.VLLM_NIXL);
    ObjectNode params = (ObjectNode) prefilled(COMPLETIONS, "a");
    params.remove(field);

    JsonNode answer =
        ask(decode, COMPLETIONS, body(COMPLETIONS).set("kv_transfer_params", params).toString(), "X-Request-Id", "a");

    assertThat(answer(COMPLETIONS, answer)).isEqualTo(alone(COMPLETIONS));
    assertThat(answer.at("/usage/prompt_tokens_details/cached_tokens").asInt()).isZero();
    assertThat(decode.transferStats().ignored()).isEqualTo(1);
    assertThat(decode.transferStats().received()).isZero();
  }

  @Test
  void nixl_roundedUnknownField_fails() throws Exception {
    pair(TransferDialect.VLLM_NIXL);
    ObjectNode params = (ObjectNode) prefilled(COMPLETIONS, "a");
    ((ObjectNode) params.get("kv_layout")).put("fingerprint", params.at("/kv_layout/fingerprint").asDouble());

    assertThat(post(decode, COMPLETIONS, body(COMPLETIONS).set("kv_transfer_params", params).toString()).statusCode())
        .isEqualTo(500);
  }

  @Test
  void nixl_otherPromptsBlocks_makeAnotherAnswer() throws Exception {
    pair(TransferDialect.VLLM_NIXL);
    ObjectNode other = body(COMPLETIONS).put("prompt", "A queen. " + TEXT).put("max_tokens", 1);
    other.set("kv_transfer_params", JSON.createObjectNode().put("do_remote_decode", true));
    JsonNode params = ask(prefill, COMPLETIONS, other.toString()).path("kv_transfer_params");

    JsonNode answer = ask(decode, COMPLETIONS, body(COMPLETIONS).set("kv_transfer_params", params).toString());

    assertThat(answer(COMPLETIONS, answer)).isNotEqualTo(alone(COMPLETIONS));
  }

  @Test
  void nixl_leaseThatNobodyExtends_ends() throws Exception {
    pair(TransferDialect.VLLM_NIXL, transfer -> transfer.withTimes(Duration.ofMillis(50), Duration.ofMillis(50)));
    JsonNode params = prefilled(COMPLETIONS, "a");
    await("the lease has ended", () -> prefill.transferStats().expired() == 1);
    await("the blocks are free", () -> kvUse(prefill) == 0);

    HttpResponse<String> late =
        post(decode, COMPLETIONS, body(COMPLETIONS).set("kv_transfer_params", params).toString());

    assertThat(late.statusCode()).isEqualTo(500);
    assertThat(JSON.readTree(late.body()).at("/error/type").asText()).isEqualTo("InternalServerError");
    assertThat(decode.transferStats().failed()).isEqualTo(1);
  }

  @Test
  void nixl_streamedLoadFailure_isAnErrorInTheStream() throws Exception {
    pair(TransferDialect.VLLM_NIXL);
    JsonNode params = prefilled(COMPLETIONS, "a");
    prefill.close();

    HttpResponse<String> late =
        post(
            decode, COMPLETIONS,
            body(COMPLETIONS).put("stream", true).set("kv_transfer_params", params).toString());

    assertThat(late.statusCode()).isEqualTo(200);
    assertThat(events(late.body()).getFirst().at("/error/code").asInt()).isEqualTo(500);
  }

  @Test
  void nixl_recomputePolicy_makesGood() throws Exception {
    pair(TransferDialect.VLLM_NIXL, TransferSettings::withRecompute);
    JsonNode params = prefilled(COMPLETIONS, "a");
    prefill.close();

    JsonNode answer = ask(decode, COMPLETIONS, body(COMPLETIONS).set("kv_transfer_params", params).toString());

    assertThat(answer(COMPLETIONS, answer)).isEqualTo(alone(COMPLETIONS));
    assertThat(decode.transferStats().recomputed()).isEqualTo(1);
  }

  @Test
  void nixl_heartbeats_keepTheLeaseWhileTheCopyWaits() throws Exception {
    TransferSettings transfer =
        TransferSettings.of(TransferDialect.VLLM_NIXL).withTimes(Duration.ofMillis(2500), Duration.ofSeconds(5));
    prefill = start(settings().role(Role.PREFILL).transfer(transfer));
    // The second sequence does not fit beside the first.
    decode = start(settings().seed(2).role(Role.DECODE).transfer(transfer).capacityBlocks(80)
        .speed(1).stepTime(new StepTime(35, 1e9, 0, 0, 0, 0, 0, 0)));
    CompletableFuture<HttpResponse<String>> busy =
        CLIENT.sendAsync(
            request(decode, COMPLETIONS, body(COMPLETIONS).put("max_tokens", 100).put("ignore_eos", true).toString()),
            HttpResponse.BodyHandlers.ofString());
    await("the first runs", () -> decode.stats().running() == 1);
    ObjectNode first = body(COMPLETIONS).put("prompt", LONG).put("max_tokens", 1);
    first.set("kv_transfer_params", JSON.createObjectNode().put("do_remote_decode", true));
    JsonNode prefilled = ask(prefill, COMPLETIONS, first.toString());
    int needed = prefilled.at("/usage/prompt_tokens").asInt() / 16;
    assertThat(needed).isBetween(68, 79);
    ObjectNode second = body(COMPLETIONS).put("prompt", LONG).put("max_tokens", 2);

    HttpResponse<String> answer =
        post(decode, COMPLETIONS, second.set("kv_transfer_params", prefilled.path("kv_transfer_params")).toString());

    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    assertThat(busy.get().statusCode()).isEqualTo(200);
    assertThat(prefill.transferStats().beats()).isPositive();
    assertThat(prefill.transferStats().expired()).isZero();
  }

  @Test
  void nixl_rejectedDecode_freesAtOnce() throws Exception {
    pair(TransferDialect.VLLM_NIXL);
    JsonNode params = prefilled(COMPLETIONS, "a");

    ObjectNode wrong = body(COMPLETIONS).put("max_tokens", 1_000_000).set("kv_transfer_params", params);

    assertThat(post(decode, COMPLETIONS, wrong.toString()).statusCode()).isEqualTo(400);
    await("the blocks are free", () -> prefill.transferStats().held() == 0);
    assertThat(prefill.transferStats().expired()).isZero();
  }

  @Test
  void nixl_endAtTheFirstToken_stillHandsOver() throws Exception {
    pair(TransferDialect.VLLM_NIXL);
    String prompt = endsAtOnce();
    ObjectNode first = JSON.createObjectNode().put("prompt", prompt).put("max_tokens", 1);
    first.set("kv_transfer_params", JSON.createObjectNode().put("do_remote_decode", true));
    JsonNode said = ask(prefill, COMPLETIONS, first.toString());

    assertThat(said.at("/choices/0/finish_reason").asText()).isEqualTo("stop");
    ObjectNode second = JSON.createObjectNode().put("prompt", prompt);
    JsonNode answer =
        ask(decode, COMPLETIONS, second.set("kv_transfer_params", said.path("kv_transfer_params")).toString());
    assertThat(answer.at("/choices/0/finish_reason").asText()).isEqualTo("stop");
    assertThat(decode.transferStats().received()).isEqualTo(1);
  }

  @Test
  void nixl_restartedPrefill_hasAnotherId() throws Exception {
    pair(TransferDialect.VLLM_NIXL);
    JsonNode before = prefilled(COMPLETIONS, "a");
    prefill.close();
    prefill = start(settings().role(Role.PREFILL).transfer(TransferSettings.of(TransferDialect.VLLM_NIXL)));
    JsonNode after = prefilled(COMPLETIONS, "b");

    assertThat(after.path("remote_engine_id").asText()).isNotEqualTo(before.path("remote_engine_id").asText());
  }

  // --- push and Mooncake: both legs at once

  @Test
  void push_decodeFirst_waitsForPrefill() throws Exception {
    pair(TransferDialect.VLLM_PUSH);
    ObjectNode second = body(COMPLETIONS);
    second.putObject("kv_transfer_params").put("do_remote_prefill", true).put("do_remote_decode", false)
        .put("remote_engine_id", prefill.engineId(0)).put("remote_host", "127.0.0.1")
        .put("remote_port", prefill.transferPort()).put("remote_request_id", "x").put("tp_size", 1);
    CompletableFuture<HttpResponse<String>> decoding =
        CLIENT.sendAsync(
            request(decode, COMPLETIONS, second.toString(), "X-Request-Id", "x"),
            HttpResponse.BodyHandlers.ofString());
    await("it waits", () -> decode.stats().waiting() == 1);

    prefilled(COMPLETIONS, "x");

    assertThat(answer(COMPLETIONS, JSON.readTree(decoding.get().body()))).isEqualTo(alone(COMPLETIONS));
  }

  @Test
  void push_otherRequestId_meetsNobody() throws Exception {
    pair(TransferDialect.VLLM_PUSH, transfer -> transfer.withTimes(Duration.ofMillis(200), Duration.ofMillis(200)));
    JsonNode params = prefilled(COMPLETIONS, "one");

    HttpResponse<String> answer =
        post(
            decode, COMPLETIONS, body(COMPLETIONS).set("kv_transfer_params", params).toString(), "X-Request-Id",
            "another");

    assertThat(answer.statusCode()).isEqualTo(500);
    await("the blocks are given up", () -> prefill.transferStats().expired() == 1);
  }

  @Test
  void mooncake_legsAtOnce_meetByTransferId() throws Exception {
    pair(TransferDialect.VLLM_MOONCAKE);
    JsonNode ranks = JSON.readTree(CLIENT.send(
        HttpRequest.newBuilder(
            URI.create("http://127.0.0.1:" + prefill.transferPort() + "/query")).build(),
        HttpResponse.BodyHandlers.ofString()).body());
    assertThat(ranks.at("/0/engine_id").asText()).isEqualTo(prefill.engineId(0));
    assertThat(ranks.at("/0/worker_addr/0/0").asText()).isEqualTo("127.0.0.1:" + prefill.transferPort());
    CompletableFuture<HttpResponse<String>> decoding = mooncakeDecode(body(COMPLETIONS), "xfer-1");

    JsonNode said = mooncakePrefill(body(COMPLETIONS), "xfer-1");

    assertThat(said.path("kv_transfer_params").isNull()).isTrue();
    assertThat(answer(COMPLETIONS, JSON.readTree(decoding.get().body()))).isEqualTo(alone(COMPLETIONS));
    await("the blocks are free", () -> prefill.transferStats().held() == 0 && kvUse(prefill) == 0);
  }

  @Test
  void mooncake_endAtTheFirstToken_dropsTheBlocks() throws Exception {
    pair(TransferDialect.VLLM_MOONCAKE, transfer -> transfer.withTimes(Duration.ofSeconds(1), Duration.ofMillis(300)));
    String prompt = endsAtOnce();
    mooncakePrefill(JSON.createObjectNode().put("prompt", prompt), "xfer-1");
    assertThat(mooncakeDecode(JSON.createObjectNode().put("prompt", prompt), "xfer-1").get().statusCode())
        .isEqualTo(500);

    mooncakePrefill(JSON.createObjectNode().put("prompt", prompt).put("ignore_eos", true), "xfer-2");
    HttpResponse<String> kept = mooncakeDecode(JSON.createObjectNode().put("prompt", prompt), "xfer-2").get();
    assertThat(JSON.readTree(kept.body()).at("/choices/0/finish_reason").asText()).isEqualTo("stop");
  }

  private CompletableFuture<HttpResponse<String>> mooncakeDecode(ObjectNode body, String transfer) {
    body.putObject("kv_transfer_params").put("do_remote_decode", false).put("do_remote_prefill", true)
        .put("remote_bootstrap_addr", "http://127.0.0.1:" + prefill.transferPort())
        .put("remote_engine_id", prefill.engineId(0)).put("transfer_id", transfer);
    return CLIENT.sendAsync(request(decode, COMPLETIONS, body.toString()), HttpResponse.BodyHandlers.ofString());
  }

  private JsonNode mooncakePrefill(ObjectNode body, String transfer) throws Exception {
    body.put("max_tokens", 1).putObject("kv_transfer_params").put("do_remote_decode", true)
        .put("do_remote_prefill", false).put("transfer_id", transfer);
    return ask(prefill, COMPLETIONS, body.toString());
  }

  // --- SGLang

  @ParameterizedTest
  @ValueSource(strings = {COMPLETIONS, CHAT, "/v1/responses", "/v1/messages"})
  void sglang_legsAtOnce_meetInTheirRoom(String path) throws Exception {
    pair(TransferDialect.SGLANG);
    String body = inRoom(path, "4611686018427387904").toString();
    CompletableFuture<HttpResponse<String>> prefilling =
        CLIENT.sendAsync(request(prefill, path, body), HttpResponse.BodyHandlers.ofString());

    JsonNode answer = ask(decode, path, body);

    assertThat(answer(path, answer)).isEqualTo(alone(path)).isNotEmpty();
    assertThat(prefilling.get().statusCode()).isEqualTo(200);
    assertThat(decode.transferStats().received()).isEqualTo(1);
    await("the blocks are free", () -> prefill.transferStats().held() == 0 && kvUse(prefill) == 0);
  }

  @Test
  void sglang_withoutRoom_isRefusedInItsWords() throws Exception {
    pair(TransferDialect.SGLANG);
    for (SimEngine engine : List.of(prefill, decode)) {
      HttpResponse<String> refused = post(engine, COMPLETIONS, body(COMPLETIONS).toString());
      assertThat(refused.statusCode()).isEqualTo(400);
      JsonNode error = JSON.readTree(refused.body());
      assertThat(error.path("object").asText()).isEqualTo("error");
      assertThat(error.path("message").asText()).contains("without bootstrap room id");
    }
  }

  @Test
  void sglang_roomOutOfRange_isRefused() throws Exception {
    pair(TransferDialect.SGLANG);
    for (String room : List.of("9223372036854775808", "-1", "1.5", "\"7\"")) {
      assertThat(post(prefill, COMPLETIONS, inRoom(room).toString()).statusCode()).as(room).isEqualTo(400);
    }
  }

  @Test
  void sglang_roomInUse_isRefused() throws Exception {
    pair(TransferDialect.SGLANG);
    String body = inRoom("7").toString();
    List<CompletableFuture<HttpResponse<String>>> both =
        List.of(
            CLIENT.sendAsync(request(prefill, COMPLETIONS, body), HttpResponse.BodyHandlers.ofString()),
            CLIENT.sendAsync(request(prefill, COMPLETIONS, body), HttpResponse.BodyHandlers.ofString()));

    HttpResponse<?> refused = (HttpResponse<?>) CompletableFuture.anyOf(both.get(0), both.get(1)).get();

    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(answer(COMPLETIONS, ask(decode, COMPLETIONS, body))).isEqualTo(alone(COMPLETIONS));
    assertThat(List.of(both.get(0).get().statusCode(), both.get(1).get().statusCode()))
        .containsExactlyInAnyOrder(200, 400);
  }

  @Test
  void sglang_legAlone_timesOut() throws Exception {
    pair(TransferDialect.SGLANG, transfer -> transfer.withTimes(Duration.ofMillis(300), Duration.ofMillis(300)));

    assertThat(post(prefill, COMPLETIONS, inRoom("7").toString()).statusCode()).isEqualTo(500);
    assertThat(post(decode, COMPLETIONS, inRoom("8").toString()).statusCode()).isEqualTo(500);
    assertThat(kvUse(prefill)).isZero();
    await("decode's blocks are free", () -> kvUse(decode) == 0);
  }

  @Test
  void sglang_room_choosesTheRank() throws Exception {
    TransferSettings transfer = TransferSettings.of(TransferDialect.SGLANG);
    prefill = start(settings().ranks(2).role(Role.PREFILL).transfer(transfer));
    decode = start(settings().seed(2).role(Role.DECODE).transfer(transfer));
    for (int room : List.of(4, 6, 8)) {
      CompletableFuture<HttpResponse<String>> prefilling =
          CLIENT.sendAsync(
              request(prefill, COMPLETIONS, inRoom(Integer.toString(room)).toString()),
              HttpResponse.BodyHandlers.ofString());
      assertThat(post(decode, COMPLETIONS, inRoom(Integer.toString(room)).toString()).statusCode()).isEqualTo(200);
      assertThat(prefilling.get().statusCode()).isEqualTo(200);
    }
    List<String> queries =
        get(prefill, "/metrics").body().lines().filter(line -> line.contains("cached_tokens_total{")).toList();
    assertThat(get(prefill, "/metrics").body().lines()
        .filter(line -> line.startsWith("sglang:prompt_tokens_total") && line.contains("dp_rank=\"1\""))
        .map(line -> line.substring(line.lastIndexOf(' ') + 1)))
        .as(queries.toString())
        .containsExactly("0.0");
  }

  private ObjectNode inRoom(String room) {
    return inRoom(COMPLETIONS, room);
  }

  private ObjectNode inRoom(String path, String room) {
    ObjectNode body =
        body(path).put("bootstrap_host", "127.0.0.1").put("bootstrap_port", prefill.transferPort());
    try {
      return body.set("bootstrap_room", JSON.readTree(room));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  // --- TensorRT-LLM

  @Test
  void tensorRt_contextThenGeneration_answersAsOneEngine() throws Exception {
    pair(TransferDialect.TENSORRT_LLM);
    for (String path : List.of(COMPLETIONS, CHAT)) {
      String alone = alone(path);
      JsonNode context = context(path, body(path));
      assertThat(context.at("/choices/0/finish_reason").asText()).isEqualTo("not_finished");
      assertThat(context.at("/usage/completion_tokens").asInt()).isEqualTo(1);

      JsonNode answer = ask(decode, path, generation(path, context).toString());

      assertThat(answer(path, answer)).isEqualTo(alone);
    }
    assertThat(decode.transferStats().received()).isEqualTo(2);
  }

  @Test
  void tensorRt_changedState_isNoticed() throws Exception {
    pair(TransferDialect.TENSORRT_LLM);
    ObjectNode generation = generation(COMPLETIONS, context(COMPLETIONS, body(COMPLETIONS)));
    ObjectNode params = (ObjectNode) generation.get("disaggregated_params");
    byte[] state = Base64.getDecoder().decode(params.path("encoded_opaque_state").asText());
    state[state.length - 3] ^= 1;

    params.put("encoded_opaque_state", Base64.getEncoder().encodeToString(state));

    assertThat(post(decode, COMPLETIONS, generation.toString()).statusCode()).isEqualTo(500);
  }

  @Test
  void tensorRt_answerThatEndsAtOnce_isTheContexts() throws Exception {
    pair(TransferDialect.TENSORRT_LLM);

    JsonNode context = context(COMPLETIONS, JSON.createObjectNode().put("prompt", endsAtOnce()));

    assertThat(context.at("/choices/0/finish_reason").asText()).isEqualTo("stop");
    assertThat(context.at("/choices/0/disaggregated_params/encoded_opaque_state").isNull()).isTrue();
    assertThat(prefill.transferStats().held()).isZero();
  }

  private JsonNode context(String path, ObjectNode body) throws Exception {
    body.putObject("disaggregated_params").put("request_type", "context_only").put("disagg_request_id", 7L)
        .put("schedule_style", 0);
    return ask(prefill, path, body.toString());
  }

  private ObjectNode generation(String path, JsonNode context) {
    ObjectNode body = body(path);
    ObjectNode params = context.at("/choices/0/disaggregated_params").deepCopy();
    body.set("disaggregated_params", params.put("request_type", "generation_only"));
    body.set(path.equals(CHAT) ? "prompt_token_ids" : "prompt", context.path("prompt_token_ids"));
    return body;
  }

  // --- in common

  /** A prompt after which the model has nothing to say. */
  private String endsAtOnce() throws Exception {
    SimEngine engine = start(settings());
    for (int i = 0; i < 200; i++) {
      String prompt = TEXT + "He counted " + i + " trees.";
      JsonNode answer =
          ask(engine, COMPLETIONS, JSON.createObjectNode().put("prompt", prompt).put("max_tokens", 2).toString());
      if (answer.at("/usage/completion_tokens").asInt() == 1) {
        return prompt;
      }
    }
    throw new AssertionError("no such prompt");
  }

  private JsonNode prefilled(String path, String id) throws Exception {
    ObjectNode first = body(path);
    first.put(path.equals("/v1/responses") ? "max_output_tokens" : "max_tokens", 1);
    first.putObject("kv_transfer_params").put("do_remote_decode", true).put("do_remote_prefill", false);
    JsonNode answer = ask(prefill, path, first.toString(), "X-Request-Id", id);
    assertThat(answer.path("kv_transfer_params").isObject()).as(answer.toString()).isTrue();
    return answer.path("kv_transfer_params");
  }

  private String alone(String path) throws Exception {
    return answer(path, ask(start(settings()), path, body(path).toString()));
  }

  private static ObjectNode body(String path) {
    ObjectNode body = JSON.createObjectNode().put("model", "kvasir-demo");
    switch (path) {
      case COMPLETIONS -> body.put("prompt", TEXT).put("max_tokens", 40);
      // By the id, which is read in the body only, engines that push find each other.
      case "/v1/responses" ->
          body.put("input", "An answer. " + TEXT).put("max_output_tokens", 40).put("request_id", "resp_r");
      default -> body.put("max_tokens", 40).putArray("messages").addObject().put("role", "user")
          .put("content", path + TEXT);
    }
    return body;
  }

  private static String answer(String path, JsonNode answer) {
    return switch (path) {
      case COMPLETIONS -> answer.at("/choices/0/text").asText();
      case CHAT -> answer.at("/choices/0/message/content").asText();
      case "/v1/responses" -> answer.at("/output/0/content/0/text").asText();
      default -> answer.at("/content/0/text").asText();
    };
  }

  /** Share of the blocks in use, first rank. */
  private static double kvUse(SimEngine engine) throws Exception {
    return get(engine, "/metrics").body().lines()
        .filter(line -> line.startsWith("vllm:kv_cache_usage_perc") || line.startsWith("sglang:token_usage"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .findFirst()
        .orElseThrow();
  }
}
