package io.kvasir.execution.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.http.ApiPath;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What each dialect sends, against what its engines' sources ask for. */
final class KvTransferProtocolTest {
  private static final String CHAT =
      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"temperature\":0.70,"
          + "\"x_unknown\":{ \"a\" : 1 }}";
  private static final String BLOCKS =
      "{\"do_remote_prefill\":true,\"do_remote_decode\":false,\"remote_block_ids\":%s,\"remote_engine_id\":\"e-1\","
          + "\"remote_request_id\":\"cmpl-r-0-1a2b3c4d\",\"remote_host\":\"10.0.0.1\",\"remote_port\":5600,"
          + "\"tp_size\":8, \"remote_num_tokens\":48,\"remote_blocks_expiry_time\":null,\"unheard\":1.50}";

  // What every dialect has to keep.

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void bothLegs_carryWhatTheClientSent(Dialect dialect) {
    KvTransferProtocol legs = KvTransferProtocol.of(dialect);
    SplitRequest split = split(dialect, "/v1/chat/completions", CHAT);
    PrefillResult handed = legs.prefillResult(split, bytes(answerOf(dialect)));

    for (EngineRequest message : new EngineRequest[] {
      legs.prefill(split), legs.decode(split, (PrefillResult.KvBlocks) handed)}) {
      assertThat(message.path()).isEqualTo("/v1/chat/completions");
      assertThat(text(message)).contains(
          "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]", "\"temperature\":0.70",
          "\"x_unknown\":{ \"a\" : 1 }");
    }
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void decode_keepsTheClientsOwnBounds(Dialect dialect) {
    KvTransferProtocol legs = KvTransferProtocol.of(dialect);
    SplitRequest split = split(
        dialect,
        "/v1/chat/completions",
        "{\"model\":\"m\",\"messages\":[],\"max_tokens\":77,\"min_tokens\":3,\"stream\":true,"
            + "\"stream_options\":{\"a\":1}}");

    String decode = text(
        legs.decode(split, (PrefillResult.KvBlocks) legs.prefillResult(split, bytes(answerOf(dialect)))));

    assertThat(decode).contains("\"max_tokens\":77,\"min_tokens\":3,\"stream\":true,\"stream_options\":{\"a\":1}");
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void whatOneTransferCannotCarry_isUnfit(Dialect dialect) {
    KvTransferProtocol legs = KvTransferProtocol.of(dialect);

    assertThat(unfit(legs, "/v1/chat/completions", "{\"n\":1}")).isNull();
    assertThat(unfit(legs, "/v1/completions", "{\"prompt\":\"a\"}")).isNull();
    assertThat(unfit(legs, "/v1/completions", "{\"prompt\":[1,2,3]}")).isNull();
    assertThat(unfit(legs, "/v1/completions", "{\"prompt\":[\"a\"]}")).isNull();
    assertThat(unfit(legs, "/v1/chat/completions", "{\"n\":2}")).isEqualTo("n>1");
    assertThat(unfit(legs, "/v1/completions", "{\"best_of\":3}")).isEqualTo("n>1");
    assertThat(unfit(legs, "/v1/completions", "{\"use_beam_search\":true}")).isEqualTo("beam search");
    assertThat(unfit(legs, "/v1/completions", "{\"prompt\":[\"a\",\"b\"]}")).isEqualTo("several prompts");
    assertThat(unfit(legs, "/v1/completions", "{\"prompt\":[[1],[2]]}")).isEqualTo("several prompts");
    assertThat(unfit(legs, "/v1/completions", "{\"echo\":true,\"logprobs\":1}"))
        .isEqualTo("log-probabilities of the prompt");
    assertThat(unfit(legs, "/v1/embeddings", "{}")).isEqualTo("not on this path");
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void workerThatHandsNothingOver_isRefused(Dialect dialect) {
    Worker bare = new Worker(
        "p", "p", URI.create("http://p:8000"), 0, 1, 0, Role.PREFILL, Set.of("m"), Map.of(), 8, "e", null);

    assertThatThrownBy(() -> new SplitRequest(request("/v1/completions", "{}"), "r", 1, bare, null))
        .hasMessageContaining("p hands nothing over");
  }

  // vLLM, NIXL.

  @Test
  void nixl_prefill_isOneTokenThatIsKept() {
    SplitRequest split = split(
        Dialect.VLLM_NIXL,
        "/v1/chat/completions",
        "{\"model\":\"m\",\"messages\":[],\"stream\":true,\"stream_options\":{\"include_usage\":true},"
            + "\"max_tokens\":512,\"max_completion_tokens\":300,\"min_tokens\":5,\"min_completion_tokens\":2}");

    assertThat(text(KvTransferProtocol.of(Dialect.VLLM_NIXL).prefill(split))).isEqualTo(
        "{\"model\":\"m\",\"messages\":[],\"stream\":false,\"max_tokens\":1,\"max_completion_tokens\":1,"
            + "\"kv_transfer_params\":{\"do_remote_decode\":true,\"do_remote_prefill\":false,\"remote_engine_id\":null,"
            + "\"remote_block_ids\":null,\"remote_host\":null,\"remote_port\":null}}");
  }

  @Test
  void nixl_prefill_boundsEachPathByItsOwnField() {
    assertThat(text(nixlPrefill("/v1/completions", "{\"prompt\":\"a\"}")))
        .contains("\"max_tokens\":1").doesNotContain("max_completion_tokens");
    assertThat(text(nixlPrefill("/v1/responses", "{\"input\":\"a\",\"max_output_tokens\":9,\"store\":true}")))
        .contains("\"max_output_tokens\":1,\"store\":false").doesNotContain("\"max_tokens\"");
    assertThat(text(nixlPrefill("/v1/messages", "{\"max_tokens\":9}"))).contains("\"max_tokens\":1");
    assertThat(text(nixlPrefill(
        "/inference/v1/generate", "{\"sampling_params\":{\"max_tokens\":9,\"min_tokens\":4,\"seed\":7}}")))
        .contains("\"sampling_params\":{\"max_tokens\":1,\"seed\":7}");
    assertThat(text(nixlPrefill("/inference/v1/generate", "{\"token_ids\":[1]}")))
        .contains("\"sampling_params\":{\"max_tokens\":1}");
  }

  @Test
  void nixl_decode_carriesTheAnswersParameters_asTheyCame() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.VLLM_NIXL);
    SplitRequest split = split(Dialect.VLLM_NIXL, "/v1/chat/completions", CHAT);
    // Flat ids in old releases, one list per group since.
    for (String ids : new String[] {"[17,18,19]", "[[17,18,19]]", "[[17],[3, 4]]"}) {
      String parameters = BLOCKS.formatted(ids);
      PrefillResult handed =
          legs.prefillResult(split, bytes("{\"id\":\"x\", \"kv_transfer_params\": " + parameters + "}"));

      assertThat(handed).isInstanceOf(PrefillResult.KvBlocks.class);
      assertThat(text(legs.decode(split, (PrefillResult.KvBlocks) handed)))
          .isEqualTo(CHAT.substring(0, CHAT.length() - 1) + ",\"kv_transfer_params\":" + parameters + "}");
    }
  }

  @Test
  void nixl_answerWithoutParameters_handsNothingOver() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.VLLM_NIXL);
    SplitRequest split = split(Dialect.VLLM_NIXL, "/v1/chat/completions", CHAT);

    for (String answer : new String[] {"{}", "{\"kv_transfer_params\":null}", "{\"kv_transfer_params\":[]}", "?"}) {
      assertThat(legs.prefillResult(split, bytes(answer))).as(answer).isInstanceOf(PrefillResult.NoBlocks.class);
    }
  }

  @Test
  void nixl_clientsOwnParameters_areLeftToHim() {
    assertThat(unfit(KvTransferProtocol.of(Dialect.VLLM_NIXL), "/v1/completions", "{\"kv_transfer_params\":{}}"))
        .isEqualTo("client's own kv_transfer_params");
    assertThat(unfit(KvTransferProtocol.of(Dialect.VLLM_NIXL), "/v1/completions", "{\"kv_transfer_params\":null}"))
        .isNull();
  }

  @Test
  void storedResponsesAndEnginesOwnTools_areUnfit() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.VLLM_NIXL);

    assertThat(unfit(legs, "/v1/responses", "{\"input\":\"a\",\"tools\":[{\"type\":\"function\"}]}")).isNull();
    assertThat(unfit(legs, "/v1/responses", "{\"previous_response_id\":\"r\"}")).isEqualTo("stored response");
    assertThat(unfit(legs, "/v1/responses", "{\"background\":true}")).isEqualTo("stored response");
    assertThat(unfit(legs, "/v1/responses", "{\"tools\":[{\"type\":\"mcp\"}]}")).isEqualTo("engine's own tools");
  }

  // vLLM, push.

  @Test
  void push_decode_knowsThePrefillWorkersSideChannel() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.VLLM_PUSH);
    SplitRequest split = split(Dialect.VLLM_PUSH, "/v1/completions", "{\"prompt\":\"a\"}");

    assertThat(text(legs.decode(split, PrefillResult.KvBlocks.NOT_AWAITED))).isEqualTo(
        "{\"prompt\":\"a\",\"kv_transfer_params\":{\"do_remote_decode\":false,\"do_remote_prefill\":true,"
            + "\"remote_engine_id\":\"engine-p\",\"remote_host\":\"10.1.1.1\",\"remote_port\":5603,\"tp_size\":2,"
            + "\"pp_size\":1,\"remote_request_id\":\"req-1\"}}");
    assertThat(text(legs.prefill(split))).contains("\"do_remote_decode\":true", "\"max_tokens\":1");
    assertThat(legs.prefill(split).headers()).containsExactly(Map.entry("X-Request-Id", "req-1"));
    assertThat(legs.decode(split, PrefillResult.KvBlocks.NOT_AWAITED).headers())
        .isEqualTo(legs.prefill(split).headers());
    assertThat(Dialect.VLLM_PUSH.concurrent()).isTrue();
  }

  /** The engines find each other by the id, which is in the body of a response's request only. */
  @Test
  void push_bothLegsOfAResponse_haveItsId() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.VLLM_PUSH);
    SplitRequest split = split(Dialect.VLLM_PUSH, "/v1/responses", "{\"input\":\"a\",\"store\":false}");
    SplitRequest named = split(Dialect.VLLM_PUSH, "/v1/responses", "{\"input\":\"a\",\"request_id\":\"mine\"}");

    assertThat(text(legs.prefill(split))).contains("\"request_id\":\"resp_req-1\"");
    assertThat(text(legs.decode(split, PrefillResult.KvBlocks.NOT_AWAITED)))
        .contains("\"request_id\":\"resp_req-1\"");
    assertThat(text(legs.prefill(named))).as("others may have it").contains("\"request_id\":\"resp_req-1\"")
        .doesNotContain("mine");
  }

  // vLLM, Mooncake.

  @Test
  void mooncake_legsMeetUnderATransferId() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.VLLM_MOONCAKE);
    SplitRequest split = new SplitRequest(
        request("/v1/completions", "{\"prompt\":\"a\"}"), "req-1", 7, worker(Dialect.VLLM_MOONCAKE, 1, 2),
        JsonMembers.of(bytes("{\"0\":{\"engine_id\":\"e-0\"},\"1\":{\"engine_id\":\"e-1\","
            + "\"worker_addr\":{\"0\":{\"0\":\"x:1\"}}}}")));

    assertThat(legs.bootstrap(split.prefill())).hasToString("http://10.1.1.1:8998/query");
    assertThat(text(legs.prefill(split))).isEqualTo(
        "{\"prompt\":\"a\",\"stream\":false,\"max_tokens\":1,\"ignore_eos\":true,\"kv_transfer_params\":"
            + "{\"do_remote_decode\":true,\"do_remote_prefill\":false,\"transfer_id\":\"xfer-req-1\"}}");
    assertThat(legs.prefill(split).headers()).containsEntry("X-data-parallel-rank", "1");
    assertThat(text(legs.decode(split, PrefillResult.KvBlocks.NOT_AWAITED))).isEqualTo(
        "{\"prompt\":\"a\",\"kv_transfer_params\":{\"do_remote_decode\":false,\"do_remote_prefill\":true,"
            + "\"remote_bootstrap_addr\":\"http://10.1.1.1:8998\",\"remote_engine_id\":\"e-1\","
            + "\"transfer_id\":\"xfer-req-1\"}}");
  }

  @Test
  void mooncake_bootstrapThatDoesNotKnowTheRank_isRefused() {
    SplitRequest split = new SplitRequest(
        request("/v1/completions", "{\"prompt\":\"a\"}"), "r", 7, worker(Dialect.VLLM_MOONCAKE, 1, 2),
        JsonMembers.of(bytes("{\"0\":{\"engine_id\":\"e-0\"}}")));

    assertThatThrownBy(() -> KvTransferProtocol.of(Dialect.VLLM_MOONCAKE)
        .decode(split, PrefillResult.KvBlocks.NOT_AWAITED))
        .hasMessageContaining("names no engine of rank 1");
  }

  // SGLang.

  @Test
  void sglang_bothLegsAreTheSame() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.SGLANG);
    SplitRequest split =
        split(Dialect.SGLANG, "/v1/chat/completions", "{\"messages\":[],\"max_tokens\":9,\"stream\":true}");

    assertThat(text(legs.prefill(split))).isEqualTo(
        "{\"messages\":[],\"max_tokens\":9,\"stream\":true,\"bootstrap_host\":\"10.1.1.1\",\"bootstrap_port\":8998,"
            + "\"bootstrap_room\":42}");
    assertThat(text(legs.decode(split, PrefillResult.KvBlocks.NOT_AWAITED))).isEqualTo(text(legs.prefill(split)));
  }

  @Test
  void sglang_adapterIsNamedBehindItsBase() {
    Worker prefill = worker(Dialect.SGLANG, 0, 1);
    String base = prefill.models().iterator().next();
    Set<String> models = new LinkedHashSet<>(List.of(base, "adapter"));
    Worker adapted = new Worker(
        prefill.id(), prefill.pod(), prefill.url(), 0, 1, 0, prefill.role(), models, Map.of(), 8, "e",
        prefill.kvTransfer());
    for (String model : List.of("adapter", base)) {
      SplitRequest split = new SplitRequest(
          request("/v1/chat/completions", "{\"model\":\"" + model + "\",\"messages\":[]}"), "r", 0, adapted, null);
      assertThat(JsonMembers.of(KvTransferProtocol.of(Dialect.SGLANG).prefill(split).body()).value("model").asText())
          .isEqualTo(model.equals(base) ? base : base + ":adapter");
    }
  }

  @Test
  void sglang_roomLeadsToThePrefillWorkersRank() {
    for (long random : new long[] {0, 1, 7, 1L << 62, Long.MAX_VALUE - 1, Long.MAX_VALUE}) {
      for (int rank = 0; rank < 8; rank++) {
        SplitRequest split = new SplitRequest(
            request("/generate", "{\"text\":\"a\"}"), "r", random, worker(Dialect.SGLANG, rank, 8), null);

        long room = JsonMembers.of(KvTransferProtocol.of(Dialect.SGLANG).prefill(split).body()).value("bootstrap_room")
            .asLong();

        assertThat(room).isNotNegative();
        assertThat(room % 8).isEqualTo(rank);
      }
    }
    assertThatThrownBy(() -> new SplitRequest(
        request("/generate", "{}"), "r", -1, worker(Dialect.SGLANG, 0, 1), null)).hasMessageContaining("room");
  }

  @Test
  void sglang_responsesAndMessages_areSplitAsChats_unlessBothEnginesSplitThem() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.SGLANG);

    assertThat(legs.splitsAsChat(ApiPath.RESPONSES, Set.of())).isTrue();
    assertThat(legs.splitsAsChat(ApiPath.MESSAGES, Set.of(ApiPath.RESPONSES))).isTrue();
    assertThat(legs.splitsAsChat(ApiPath.RESPONSES, Set.of(ApiPath.RESPONSES))).isFalse();
    assertThat(legs.splitsAsChat(ApiPath.CHAT, Set.of())).isFalse();
    assertThat(legs.splitsAsChat(ApiPath.GENERATE, Set.of())).isFalse();
    EngineRequest message = legs.decode(
        split(Dialect.SGLANG, "/v1/messages", "{\"max_tokens\":4}"), PrefillResult.KvBlocks.NOT_AWAITED);
    assertThat(message.path()).isEqualTo("/v1/messages");
    assertThat(text(message)).contains("\"max_tokens\":4", "\"bootstrap_room\":42");
  }

  // TensorRT-LLM.

  @Test
  void tensorRt_context_keepsTheBound_andStreamsNothing() {
    SplitRequest split = split(
        Dialect.TENSORRT_LLM, "/v1/completions",
        "{\"prompt\":\"a\",\"max_tokens\":9,\"stream\":true,\"stream_options\":{\"include_usage\":true}}");

    assertThat(text(KvTransferProtocol.of(Dialect.TENSORRT_LLM).prefill(split))).isEqualTo(
        "{\"prompt\":\"a\",\"max_tokens\":9,\"stream\":false,\"stream_options\":null,\"disaggregated_params\":"
            + "{\"request_type\":\"context_only\",\"disagg_request_id\":4398046511146,\"schedule_style\":0}}");
  }

  @Test
  void tensorRt_responsesAndMessages_areSplitAsChats() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.TENSORRT_LLM);

    assertThat(unfit(legs, "/v1/messages", "{}")).isNull();
    assertThat(unfit(legs, "/v1/responses", "{}")).isNull();
    assertThat(legs.splitsAsChat(ApiPath.RESPONSES, Set.of())).isTrue();
    assertThat(legs.splitsAsChat(ApiPath.MESSAGES, Set.of(ApiPath.MESSAGES))).isTrue();
    assertThat(legs.splitsAsChat(ApiPath.CHAT, Set.of())).isFalse();
  }

  @Test
  void tensorRt_generation_goesOnWithWhatTheContextAnswered() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.TENSORRT_LLM);
    SplitRequest chat = split(Dialect.TENSORRT_LLM, "/v1/chat/completions", "{\"messages\":[],\"stream\":true}");
    PrefillResult handed = legs.prefillResult(chat, bytes(context("length", "")));

    assertThat(text(legs.decode(chat, (PrefillResult.KvBlocks) handed))).isEqualTo(
        "{\"messages\":[],\"stream\":true,\"disaggregated_params\":{\"request_type\":\"generation_only\","
            + "\"first_gen_tokens\":[7],\"ctx_request_id\":9007199254740993,"
            + "\"encoded_opaque_state\":\"AA==\",\"new\":1.0,"
            + "\"ctx_usage\":{\"prompt_tokens\":3}},\"prompt_token_ids\":[1,2,3]}");

    SplitRequest text = split(Dialect.TENSORRT_LLM, "/v1/completions", "{\"prompt\":\"abc\",\"max_tokens\":5}");
    assertThat(text(
        legs.decode(text, (PrefillResult.KvBlocks) legs.prefillResult(text, bytes(context("not_finished", ""))))))
        .startsWith("{\"prompt\":[1,2,3],\"max_tokens\":5,"
            + "\"disaggregated_params\":{\"request_type\":\"generation_only\"");
  }

  @Test
  void tensorRt_base64Ids_arePassedAsTheyAre() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.TENSORRT_LLM);
    SplitRequest chat = split(Dialect.TENSORRT_LLM, "/v1/chat/completions", "{\"messages\":[]}");
    String answer = context("length", "").replace("\"prompt_token_ids\":[1,2,3]", "\"prompt_token_ids_b64\":\"AQID\"");

    assertThat(text(legs.decode(chat, (PrefillResult.KvBlocks) legs.prefillResult(chat, bytes(answer)))))
        .contains("\"prompt_token_ids_b64\":\"AQID\"");
  }

  @Test
  void tensorRt_finishedContext_isTheAnswer() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.TENSORRT_LLM);
    SplitRequest whole = split(Dialect.TENSORRT_LLM, "/v1/chat/completions", "{\"messages\":[]}");

    assertThat(legs.prefillResult(whole,
        bytes(context("stop", "\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},"))))
        .isInstanceOfSatisfying(PrefillResult.FinalAnswer.class, answer -> {
          assertThat(answer.events()).isFalse();
          assertThat(new String(answer.body(), StandardCharsets.UTF_8)).isEqualTo(
              "{\"id\":\"c\",\"created\":5,\"model\":\"m\",\"choices\":[{\"index\":0,"
                  + "\"message\":{\"role\":\"assistant\","
                  + "\"content\":\"Hi\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3}}");
        });
  }

  @Test
  void tensorRt_finishedContext_isAStreamForAClientThatWantsOne() {
    KvTransferProtocol legs = KvTransferProtocol.of(Dialect.TENSORRT_LLM);
    SplitRequest streams = split(
        Dialect.TENSORRT_LLM, "/v1/chat/completions",
        "{\"messages\":[],\"stream\":true,\"stream_options\":{\"include_usage\":true}}");

    assertThat(legs.prefillResult(streams,
        bytes(context("stop", "\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},"))))
        .isInstanceOfSatisfying(PrefillResult.FinalAnswer.class, answer -> {
          assertThat(answer.events()).isTrue();
          assertThat(new String(answer.body(), StandardCharsets.UTF_8)).isEqualTo(
              "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":5,\"model\":\"m\","
                  + "\"choices\":[{\"index\":0,"
                  + "\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n"
                  + "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":5,\"model\":\"m\","
                  + "\"choices\":[],"
                  + "\"usage\":{\"prompt_tokens\":3}}\n\ndata: [DONE]\n\n");
        });
  }

  @Test
  void tensorRt_contextWithoutParameters_handsNothingOver() {
    SplitRequest split = split(Dialect.TENSORRT_LLM, "/v1/completions", "{\"prompt\":\"a\"}");
    String bare = "{\"choices\":[{\"finish_reason\":\"length\"}]}";

    assertThat(KvTransferProtocol.of(Dialect.TENSORRT_LLM).prefillResult(split, bytes(bare)))
        .isInstanceOf(PrefillResult.NoBlocks.class);
    assertThat(KvTransferProtocol.of(Dialect.TENSORRT_LLM).prefillResult(split, bytes("{}")))
        .isInstanceOf(PrefillResult.NoBlocks.class);
  }

  // Encoders.

  @Test
  void encoder_getsEachItem_underAnIdOfItsContent() {
    EncodeStep encode = new EncodeStep();
    ClientRequest request = request(
        "/v1/chat/completions",
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"?\"},"
            + "{\"type\":\"image_url\",\"image_url\":{\"url\":\"http://a/b.png\"}},"
            + "{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"QUJD\",\"format\":\"wav\"},\"uuid\":\"mine\"}]}],"
            + "\"temperature\":0.70}");

    var messages = encode.requests(request, "r");
    ClientRequest marked = encode.annotated(request);
    String uuid = marked.members().value("messages").path(0).path("content").path(1).path("uuid").asText();

    assertThat(messages).hasSize(2);
    assertThat(uuid)
        .isEqualTo("4ae8846344c174e9d55c86ca30ff5f89a7ff29445920455119d0cfda891781db");
    assertThat(text(messages.getFirst())).isEqualTo(
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":"
            + "\"http://a/b.png\"},\"uuid\":\"" + uuid + "\"}]}],\"stream\":false}");
    assertThat(messages.getFirst().headers()).containsEntry("X-Request-Id", "r:0:" + uuid.substring(0, 6));
    assertThat(text(messages.getLast())).contains("\"uuid\":\"mine\"");
    assertThat(marked.members().toString()).contains("\"uuid\":\"" + uuid + "\"", "\"uuid\":\"mine\"", "0.70");
    assertThat(encode.annotated(marked).members()).hasToString(marked.members().toString());
  }

  @Test
  void encoder_requestWithoutItems_needsNothing() {
    ClientRequest request = request("/v1/chat/completions", CHAT);

    assertThat(new EncodeStep().requests(request, "r")).isEmpty();
    assertThat(new EncodeStep().annotated(request).members()).hasToString(CHAT);
  }

  @Test
  void encoder_requestWithMoreItemsThanEnginesTake_isLeftToThem() {
    String item = "{\"type\":\"image_url\",\"image_url\":{\"url\":\"http://a\"}}";
    String body = "{\"messages\":[{\"content\":[%s]},{\"content\":[%s]}]}";
    ClientRequest most = request("/v1/chat/completions", body.formatted(item, items(item, 999)));
    ClientRequest more = request("/v1/chat/completions", body.formatted(item, items(item, 1000)));

    assertThat(new EncodeStep().requests(most, "r")).hasSize(1000);
    assertThat(new EncodeStep().requests(more, "r")).isEmpty();
    assertThat(new EncodeStep().annotated(more)).isEqualTo(more);
  }

  private static String items(String item, int count) {
    return String.join(",", Collections.nCopies(count, item));
  }

  private static String answerOf(Dialect dialect) {
    return dialect == Dialect.TENSORRT_LLM
        ? context("length", "")
        : "{\"kv_transfer_params\":" + BLOCKS.formatted("[[1]]") + "}";
  }

  private static String context(String finish, String message) {
    return "{\"id\":\"c\",\"created\":5,\"model\":\"m\",\"choices\":[{\"index\":0," + message + "\"finish_reason\":\""
        + finish + "\",\"disaggregated_params\":{\"request_type\":\"context_only\",\"first_gen_tokens\":[7],"
        + "\"ctx_request_id\":9007199254740993,\"encoded_opaque_state\":\"AA==\",\"new\":1.0}}],"
        + "\"usage\":{\"prompt_tokens\":3},\"prompt_token_ids\":[1,2,3]}";
  }

  private static EngineRequest nixlPrefill(String path, String body) {
    return KvTransferProtocol.of(Dialect.VLLM_NIXL).prefill(split(Dialect.VLLM_NIXL, path, body));
  }

  private static @Nullable String unfit(KvTransferProtocol legs, String path, String body) {
    return legs.unsupportedReason(request(path, body));
  }

  private static SplitRequest split(Dialect dialect, String path, String body) {
    int rank = dialect == Dialect.VLLM_PUSH ? 3 : 0;
    return new SplitRequest(
        request(path, body), "req-1", 42, worker(dialect, rank, rank + 1),
        JsonMembers.of(bytes("{\"0\":{\"engine_id\":\"e\"}}")));
  }

  private static Worker worker(Dialect dialect, int rank, int ranks) {
    KvTransfer transfer = new KvTransfer(
        dialect, "", "10.1.1.1", dialect.defaultPort(), "engine-p", 2, 1, new KvTransfer.TransferCost(1, 1));
    return new Worker(
        "p#" + rank, "p", URI.create("http://p:8000"), rank, ranks, 0, Role.PREFILL, Set.of("m"), Map.of(), 8, "e",
        transfer);
  }

  private static ClientRequest request(String path, String body) {
    return new ClientRequest(path, JsonMembers.of(bytes(body)));
  }

  private static String text(EngineRequest message) {
    return new String(message.body(), StandardCharsets.UTF_8);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
