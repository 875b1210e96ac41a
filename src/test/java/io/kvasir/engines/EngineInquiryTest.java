package io.kvasir.engines;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.routing.Role;
import io.kvasir.sim.EngineApi;
import io.kvasir.sim.EventSettings;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What engines of every kind tell of themselves, over real sockets. */
final class EngineInquiryTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final HttpCalls calls = new HttpCalls();
  private final EngineInquiry inquiry = new EngineInquiry(calls, TIMEOUT);

  @AfterEach
  void close() {
    calls.close();
  }

  private static SimSettings.Builder settings() {
    return SimSettings.builder().port(0).speed(0).events(EventSettings.DEFAULT.withLoopback())
        .loras(List.of("sql")).blockSize(32).capacityBlocks(500).ranks(2);
  }

  private EngineDescription describe(SimSettings.Builder settings) throws Exception {
    try (SimEngine engine = SimEngine.start(settings.build())) {
      EngineDescription description = inquiry.describe(engine.url(), null);
      assertThat(description.identity().simulated()).isTrue();
      assertThat(description.url()).isEqualTo(engine.url());
      if (description.events() instanceof EventPublishing.Zmq zmq && !zmq.connects()) {
        assertThat(zmq.endpoint()).isEqualTo(engine.eventsEndpoint());
        assertThat(zmq.replay()).isEqualTo(engine.replayEndpoint());
      }
      return description;
    }
  }

  private static List<String> unknown(EngineDescription description) {
    return description.unknowns().stream().map(Unknown::what).toList();
  }

  @Test
  void vllm_tellsByItsMetrics_andTheRestIsUnknown() throws Exception {
    EngineDescription vllm = describe(settings());

    assertThat(vllm.identity().kind()).isEqualTo(EngineKind.VLLM);
    assertThat(vllm.identity().version()).startsWith("0.32.0");
    assertThat(vllm.baseModels())
        .containsExactly(new ServedModel("kvasir-demo", "kvasir-demo", null, 16_000, null));
    assertThat(vllm.adapters()).containsExactly("sql");
    assertThat(vllm.cache()).isEqualTo(new CacheDescription(32, 500, 2, true, "sha256_cbor", null));
    assertThat(vllm.events()).isInstanceOf(EventPublishing.Untold.class);
    assertThat(unknown(vllm)).containsExactly("usage of cached tokens", "cache events", "role and connector");
    assertThat(vllm.unknowns()).anyMatch(each -> each.remedy().contains("--kv-events-config"))
        .anyMatch(each -> each.remedy().contains("VLLM_SERVER_DEV_MODE=1"))
        .anyMatch(each -> each.remedy().contains("--enable-prompt-tokens-details"));
  }

  @Test
  void vllm_inDeveloperMode_tellsItsEventsAndItsConnector() throws Exception {
    EngineDescription vllm =
        describe(
            settings().developerMode(true).role(Role.PREFILL)
                .transfer(TransferSettings.of(TransferDialect.VLLM_NIXL)));

    assertThat(vllm.events()).isInstanceOfSatisfying(EventPublishing.Zmq.class, zmq -> {
      assertThat(zmq.bufferSteps()).isEqualTo(10_000);
      assertThat(zmq.connects()).isFalse();
    });
    assertThat(vllm.transfer()).isEqualTo(
        new TransferDescription("NixlConnector", TransferDescription.Role.PREFILL, null, null));
    assertThat(vllm.baseModels().getFirst().tokenizer()).isEqualTo("kvasir-demo");
    assertThat(unknown(vllm)).containsExactly("usage of cached tokens");
  }

  @Test
  void vllm_thatDials_orHasNoEventsOrPrefixes_saysSo() throws Exception {
    EventSettings dialling =
        new EventSettings(
            true, "127.0.0.1", new EventSettings.PubSettings(0, "tcp://127.0.0.1:9"),
            new EventSettings.ReplaySettings(false, 0, true, 0), "kv", EventSettings.DEFAULT.format());

    assertThat(describe(settings().developerMode(true).events(dialling)).events())
        .isEqualTo(new EventPublishing.Zmq("tcp://127.0.0.1:9", null, "kv", null, true));
    assertThat(describe(settings().developerMode(true).events(EventSettings.OFF)).events())
        .isEqualTo(new EventPublishing.Off());
    assertThat(describe(settings().prefixCaching(false)).cache().prefixCaching()).isFalse();
  }

  @Test
  void vllm_whosePortsTheSystemChooses_isToldToSetThem() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      switch (request.target().replaceFirst("\\?.*", "")) {
        case "/v1/models" -> out.json(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}");
        case "/version" -> out.json(200, "{\"version\":\"0.33.0\"}");
        case "/server_info" -> out.json(
            200,
            """
            {"vllm_config": {"kv_events_config": {"enable_kv_cache_events": true, "publisher": "zmq",
             "endpoint": "tcp://*:0", "replay_endpoint": "tcp://*:0"}}}
            """);
        default -> out.json(404, "{}");
      }
    })) {
      assertThat(inquiry.describe(pod.url(), null).events()).isEqualTo(new EventPublishing.UntoldPorts());
      SurveyedEngine surveyed = new EngineSurvey(calls, Duration.ofSeconds(10)).survey(pod.url(), null, true);
      assertThat(surveyed.remarks())
          .anyMatch(remark -> remark.contains("set ports in endpoint and replay_endpoint of its --kv-events-config"));
    }
  }

  @Test
  void sglang_tellsAll() throws Exception {
    EngineDescription sglang = describe(settings().api(EngineApi.SGLANG).reportCachedTokens(false));

    assertThat(sglang.identity().kind()).isEqualTo(EngineKind.SGLANG);
    assertThat(sglang.identity().version()).startsWith("0.6");
    assertThat(sglang.cache()).isEqualTo(new CacheDescription(32, 500, 2, true, null, false));
    assertThat(sglang.events()).isInstanceOfSatisfying(EventPublishing.Zmq.class, zmq -> {
      assertThat(zmq.bufferSteps()).isEqualTo(10_000);
      assertThat(zmq.topic()).isEmpty();
    });
    assertThat(sglang.baseModels().getFirst().contextLength()).isEqualTo(16_000);
    assertThat(sglang.baseModels().getFirst().tokenizer()).isEqualTo("kvasir-demo");
    assertThat(sglang.unknowns()).isEmpty();
    assertThat(describe(settings().api(EngineApi.SGLANG).role(Role.DECODE)).transfer())
        .isEqualTo(new TransferDescription("mooncake", TransferDescription.Role.DECODE, 8998, null));
    assertThat(describe(settings().api(EngineApi.SGLANG).events(EventSettings.OFF)).events())
        .isEqualTo(new EventPublishing.Off());
  }

  @Test
  void tensorRt_tellsItsBlockSize_andIsNotAskedForWhatItGivesOnce() throws Exception {
    EngineDescription tensorRt = describe(settings().api(EngineApi.TENSORRT_LLM));

    assertThat(tensorRt.identity().kind()).isEqualTo(EngineKind.TENSORRT_LLM);
    assertThat(tensorRt.cache().blockSize()).isEqualTo(32);
    assertThat(tensorRt.cache().hashAlgorithm()).isEqualTo("v1_block_key");
    assertThat(unknown(tensorRt)).containsExactly("cache events", "ranks", "role");

    List<String> drained = List.of("/metrics", "/kv_cache_events");
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      assertThat(drained).doesNotContain(request.target());
      out.json(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"tensorrt_llm\"}]}");
    })) {
      assertThat(inquiry.describe(pod.url(), null).identity().kind()).isEqualTo(EngineKind.TENSORRT_LLM);
    }
  }

  @Test
  void llmdsSimulator_isNotVllm() throws Exception {
    EngineDescription simulator = describe(settings().api(EngineApi.LLM_D));

    assertThat(simulator.identity().kind()).isEqualTo(EngineKind.LLM_D_SIMULATOR);
    assertThat(simulator.identity().version()).isNull();
    assertThat(simulator.cache().blockSize()).isEqualTo(32);
    assertThat(unknown(simulator)).contains("version", "cache events");
  }

  /** An engine that is taken over names what it likes: each name would be a key of every router's tables. */
  @Test
  void anEngineThatNamesTooManyAdapters_isTakenAtSomeOfThem() throws Exception {
    StringBuilder models = new StringBuilder("{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}");
    for (int i = 0; i < 5000; i++) {
      models.append(",{\"id\":\"a").append(i).append("\",\"owned_by\":\"vllm\",\"parent\":\"m\"}");
    }
    models.append("]}");
    try (ScriptedPod pod = new ScriptedPod((request, out) ->
        out.json(request.target().equals("/v1/models") ? 200 : 404, models.toString()))) {
      EngineDescription described = inquiry.describe(pod.url(), null);

      assertThat(described.models()).hasSize(EngineDescription.MAX_MODELS);
      assertThat(described.baseModels()).extracting(ServedModel::name).containsExactly("m");
      assertThat(new SurveyedEngine("e", described, new EventOrigin.None("None."), false).remarks())
          .anyMatch(remark -> remark.contains("the first 1024 are taken"));
    }
  }

  @Test
  void anEngineOfAnotherMake_isUnknown() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      if (request.target().equals("/v1/models")) {
        out.json(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"me\"},{\"id\":7}]}");
      } else {
        out.json(500, "{}");
      }
    })) {
      // What cannot tell its version now may tell it later.
      assertThatThrownBy(() -> inquiry.describe(pod.url(), null))
          .isInstanceOf(HttpCallException.class).hasMessageContaining("/version answered 500");
    }
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      out.json(request.target().equals("/v1/models") ? 200 : 404, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"me\"}]}");
    })) {
      EngineDescription unknown = inquiry.describe(pod.url(), null);
      assertThat(unknown.identity()).isEqualTo(new EngineIdentity(EngineKind.UNKNOWN, null, false));
      assertThat(unknown.models()).containsExactly(new ServedModel("m", null, null, null, null));
      assertThat(unknown(unknown)).containsExactly("kind", "block size", "cache events");
    }
  }

  @Test
  void anEngineThatDoesNotAnswer_orRefuses_isAFailureThatSaysWhy() throws Exception {
    URI closed;
    try (ServerSocket socket = new ServerSocket(0)) {
      closed = URI.create("http://127.0.0.1:" + socket.getLocalPort());
    }
    assertThatThrownBy(() -> inquiry.describe(closed, null)).hasMessageContaining("takes no connection");
    try (ScriptedPod locked = new ScriptedPod((request, out) -> out.json(401, "{\"error\":\"Unauthorized\"}"))) {
      assertThatThrownBy(() -> inquiry.describe(locked.url(), "wrong")).hasMessageContaining("answered 401");
      assertThat(locked.next().headers().first("Authorization")).isEqualTo("Bearer wrong");
    }
    try (ScriptedPod empty = new ScriptedPod((request, out) -> out.json(200, "{\"data\":[]}"))) {
      assertThatThrownBy(() -> inquiry.describe(empty.url(), null)).hasMessageContaining("names no model");
    }
  }
}
