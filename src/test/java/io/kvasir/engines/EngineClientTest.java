package io.kvasir.engines;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.cell.CellSettings;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.load.Ports;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.CachedTokensUsage;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What engines of every kind tell of themselves, over real sockets. */
final class EngineClientTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final HttpCalls calls = new HttpCalls();
  private final EngineClient client = new EngineClient(calls, TIMEOUT);

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
      EngineDescription description = client.describe(engine.url(), null);
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
    assertThat(vllm.events()).isInstanceOfSatisfying(EventPublishing.Zmq.class, zmq -> {
      assertThat(zmq.bufferSteps()).isEqualTo(10_000);
      assertThat(zmq.connects()).isFalse();
      assertThat(zmq.otherRanks()).isEmpty();
    });
    assertThat(unknown(vllm)).containsExactly("usage of cached tokens", "role and connector");
    assertThat(vllm.unknowns())
        .anyMatch(each -> each.remedy().contains("VLLM_SERVER_DEV_MODE=1"))
        .anyMatch(each -> each.remedy().contains("--enable-prompt-tokens-details"));
  }

  @Test
  void vllm_inDeveloperMode_tellsItsEventsAndItsConnector() throws Exception {
    EngineDescription vllm =
        describe(
            settings().developerMode(true).role(Role.PREFILL)
                .transfer(TransferSettings.of(TransferDialect.VLLM_NIXL).withAddress(0, "e")));

    assertThat(vllm.events()).isInstanceOfSatisfying(EventPublishing.Zmq.class, zmq -> {
      assertThat(zmq.bufferSteps()).isEqualTo(10_000);
      assertThat(zmq.connects()).isFalse();
    });
    assertThat(vllm.transfer()).isEqualTo(
        new TransferDescription("NixlConnector", TransferDescription.Role.PREFILL, null, "e"));
    assertThat(vllm.baseModels().getFirst().tokenizer()).isEqualTo("kvasir-demo");
    assertThat(unknown(vllm)).containsExactly("usage of cached tokens");
  }

  /** It looks around on its machine when it is asked first. */
  @Test
  void vllm_inDeveloperMode_mayTakeItsTimeToTell() throws Exception {
    Duration slow = Duration.ofSeconds(2);
    CountDownLatch never = new CountDownLatch(1);
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      switch (request.target()) {
        case "/v1/models" -> out.json(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}");
        case "/version" -> out.json(200, "{\"version\":\"0.32.0\"}");
        case "/server_info?config_format=json" -> {
          boolean _ = never.await(slow.toMillis() * 5 / 4, TimeUnit.MILLISECONDS);
          out.json(200, "{\"vllm_config\":{\"cache_config\":{\"block_size\":32}}}");
        }
        default -> out.json(404, "{}");
      }
    })) {
      assertThat(new EngineClient(calls, slow).describe(pod.url(), null).cache().blockSize()).isEqualTo(32);
    }
  }

  @Test
  void vllm_withATierOfPeers_tellsIts() throws Exception {
    TransferSettings peers = TransferSettings.of(TransferDialect.VLLM_P2P);
    try (SimEngine engine = SimEngine.start(settings().developerMode(true).ranks(1).transfer(peers).build())) {
      assertThat(new EngineClient(calls, TIMEOUT).describe(engine.url(), null).transfer())
          .isEqualTo(new TransferDescription(TransferDescription.PEERS, null, engine.transferPort(), null));
    }
  }

  /** Nobody could divide a request otherwise: the bootstrap server of a simulated engine has any free port. */
  @Test
  void simulatedSglang_tellsThePortThatItIsBoundTo() throws Exception {
    SimSettings.Builder prefill =
        settings().api(EngineApi.SGLANG).role(Role.PREFILL).transfer(TransferSettings.of(TransferDialect.SGLANG));
    try (SimEngine engine = SimEngine.start(prefill.build())) {
      assertThat(new EngineClient(calls, TIMEOUT).describe(engine.url(), null).transfer())
          .isEqualTo(
              new TransferDescription("mooncake", TransferDescription.Role.PREFILL, engine.transferPort(), null));
    }
  }

  @Test
  void simulatedVllm_thatPushes_tellsTheIdByWhichItIsNamed() throws Exception {
    SimSettings.Builder prefill =
        settings().developerMode(true).ranks(1).role(Role.PREFILL)
            .transfer(TransferSettings.of(TransferDialect.VLLM_PUSH));
    try (SimEngine engine = SimEngine.start(prefill.build())) {
      SurveyedEngine surveyed =
          new EngineSurvey(calls, TIMEOUT).survey(new EngineAddress(engine.url(), null, null), null, true, null);
      KvHandover handover = KvHandover.of(surveyed).orElseThrow();
      assertThat(handover.dialect()).isEqualTo("vllm-push");
      assertThat(handover.transfer().engineId()).isEqualTo(engine.engineId(0));
    }
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

  /** As vLLM 0.31 to 0.33 answer. */
  @Test
  void vllmsEventSources_areThoseOfEachRank() throws Exception {
    assertThat(published("{}", 0)).isEqualTo(new EventPublishing.Off());
    assertThat(published(sources("tcp://*:5557", "tcp://*:5657", "tcp://*:5558", "tcp://*:5658"), 2))
        .isEqualTo(new EventPublishing.Zmq("tcp://127.0.0.1:5557", "tcp://127.0.0.1:5657", "kv", 10_000, false));
    // A rank behind a load balancer of its own is the fourth of its group, and the first one here.
    assertThat(published("{\"3\":" + source("tcp://*:5560", null) + "}", 1))
        .isEqualTo(new EventPublishing.Zmq("tcp://127.0.0.1:5560", null, "kv", 10_000, false));
    // Ports that the system chose: these are bound, as is any address where somebody answers.
    assertThat(published(sources("tcp://10.0.0.1:41233", "tcp://10.0.0.1:41234", "tcp://10.0.0.2:40007", null), 2))
        .isEqualTo(
            new EventPublishing.BoundOrDialled(
                new EventPublishing.Zmq(
                    "tcp://10.0.0.1:41233", "tcp://10.0.0.1:41234", "kv", 10_000, false,
                    List.of(new EventPublishing.RankSockets("tcp://10.0.0.2:40007", null)))));
    // The others' caches would be believed to be empty.
    assertThat(published(sources("tcp://*:5557", null, "tcp://*:5558", null), 3))
        .isEqualTo(new EventPublishing.Untold());
  }

  /** Without the metrics that count them, as with --disable-log-stats. */
  @Test
  void vllmsEventSources_tellItsRanks_whereItsMetricsDoNot() throws Exception {
    EngineDescription vllm = described(sources("tcp://*:41233", null, "tcp://*:40007", null), 0);

    assertThat(vllm.cache().ranks()).isEqualTo(2);
    assertThat(vllm.events()).isEqualTo(
        new EventPublishing.Zmq(
            "tcp://127.0.0.1:41233", null, "kv", 10_000, false,
            List.of(new EventPublishing.RankSockets("tcp://127.0.0.1:40007", null))));
  }

  /** An engine names as many as it likes. */
  @Test
  void vllmsEventSources_ofMoreRanksThanAPodMayHave_areNoneThatAreRead() throws Exception {
    assertThat(EngineDescription.MAX_RANKS).isEqualTo(CellSettings.MAX_SLOTS);
    assertThat(published(manySources(EngineDescription.MAX_RANKS), 0)).isInstanceOf(EventPublishing.Zmq.class);
    assertThat(published(manySources(20_000), 0)).isEqualTo(new EventPublishing.TooMany(20_000));
    try (ScriptedPod pod = vllm(manySources(257), 0)) {
      assertThat(new EngineSurvey(calls, TIMEOUT).survey(EngineAddress.of(pod.url()), null, true, null).remarks())
          .anyMatch(remark -> remark.contains("the cache events of 257 data-parallel ranks, and a pod may have 256"));
    }
  }

  /** Its log names each page that it does not have. */
  @Test
  void knownEngine_isAskedForThePagesThatItHas_andForAllOnceItIsAnother() throws Exception {
    Queue<String> asked = new ConcurrentLinkedQueue<>();
    EngineIdentity known;
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      asked.add(request.target());
      vllm(request, out, "{\"0\":" + source("tcp://*:5557", null) + "}", 1);
    })) {
      EngineDescription first = client.describe(pod.url(), null);
      assertThat(asked).contains("/server_info?config_format=json", "/admin/config", "/sim");
      assertThat(first.identity().pages()).containsExactlyInAnyOrder(EnginePage.VERSION, EnginePage.EVENT_SOURCES);

      asked.clear();
      assertThat(client.describe(EngineAddress.of(pod.url()), null, first.identity())).isEqualTo(first);
      assertThat(asked).containsExactlyInAnyOrder("/v1/models", "/version", "/kv_event_sources", "/metrics");
      known = first.identity();
    }
    for (EngineApi api : EngineApi.values()) {
      try (SimEngine another = SimEngine.start(settings().api(api).build())) {
        EngineDescription whole = client.describe(another.url(), null);
        assertThat(client.describe(EngineAddress.of(another.url()), null, known)).as("%s", api).isEqualTo(whole);
        assertThat(client.describe(EngineAddress.of(another.url()), null, whole.identity())).as("%s", api)
            .isEqualTo(whole);
      }
    }
  }

  private static String manySources(int ranks) {
    StringBuilder page = new StringBuilder("{");
    for (int rank = 0; rank < ranks; rank++) {
      page.append(rank == 0 ? "" : ",").append('"').append(rank).append("\":")
          .append(source("tcp://*:" + (5557 + rank), null));
    }
    return page.append('}').toString();
  }

  /** What an engine with so many ranks publishes by its page. */
  private EventPublishing published(String page, int ranks) throws Exception {
    return described(page, ranks).events();
  }

  private EngineDescription described(String page, int ranks) throws Exception {
    try (ScriptedPod pod = vllm(page, ranks)) {
      return client.describe(pod.url(), null);
    }
  }

  /** Answers as vLLM, whose metrics are those of so many ranks. */
  private static ScriptedPod vllm(String page, int ranks) throws IOException {
    return new ScriptedPod((request, out) -> vllm(request, out, page, ranks));
  }

  private static void vllm(
      ScriptedPod.ReceivedRequest request, ScriptedPod.ScriptedResponse out, String page, int ranks)
      throws Exception {
    switch (request.target()) {
      case "/v1/models" -> out.json(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}");
      case "/version" -> out.json(200, "{\"version\":\"0.33.0\"}");
      case "/kv_event_sources" -> out.json(200, page);
      case "/metrics" -> {
        StringBuilder metrics = new StringBuilder();
        for (int rank = 0; rank < ranks; rank++) {
          metrics.append("vllm:cache_config_info{block_size=\"16\",engine=\"").append(rank).append("\"} 1.0\n");
        }
        out.json(200, metrics.toString());
      }
      default -> out.json(404, "{}");
    }
  }

  private static String sources(String first, @Nullable String replay, String second, @Nullable String secondReplay) {
    return "{\"0\":" + source(first, replay) + ",\"1\":" + source(second, secondReplay) + "}";
  }

  private static String source(String endpoint, @Nullable String replay) {
    return """
        {"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"%s","replay_endpoint":%s,"buffer_steps":10000,
         "hwm":100000,"max_queue_size":100000,"topic":"kv"}
        """.formatted(endpoint, replay == null ? "null" : "\"" + replay + "\"");
  }

  @Test
  void vllmsPublisher_thatIsBound_isListenedTo_andOneThatMayBeDialledIsNot() throws Exception {
    try (SimEngine publisher = SimEngine.start(settings().ranks(1).build())) {
      String bound = String.valueOf(publisher.eventsEndpoint());
      assertThat(origin(source(bound, null))).isEqualTo(
          new EventOrigin.Announced(new EventPublishing.Zmq(bound, null, "kv", 10_000, false)));
    }
    try (ServerSocket http = new ServerSocket(0)) {
      assertThat(origin(source("tcp://127.0.0.1:" + http.getLocalPort(), null)))
          .isInstanceOfSatisfying(EventOrigin.None.class, none ->
              assertThat(none.why()).contains("where nobody answers", "bind = true"));
    }
  }

  private EventOrigin origin(String source) throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      switch (request.target()) {
        case "/v1/models" -> out.json(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}");
        case "/version" -> out.json(200, "{\"version\":\"0.33.0\"}");
        case "/kv_event_sources" -> out.json(200, "{\"0\":" + source + "}");
        default -> out.json(404, "{}");
      }
    })) {
      return new EngineSurvey(calls, Duration.ofSeconds(2)).survey(EngineAddress.of(pod.url()), null, true, null)
          .events();
    }
  }

  @Test
  void olderVllm_whosePortsTheSystemChooses_isToldToSetThem() throws Exception {
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
      assertThat(client.describe(pod.url(), null).events()).isEqualTo(new EventPublishing.UntoldPorts());
      SurveyedEngine surveyed =
          new EngineSurvey(calls, Duration.ofSeconds(10)).survey(EngineAddress.of(pod.url()), null, true, null);
      assertThat(surveyed.remarks())
          .anyMatch(remark -> remark.contains("set ports in endpoint and replay_endpoint of its --kv-events-config"));
    }
  }

  @Test
  void grpcPort_ofAnEngineThatIsNotVllm_isRemarkedOn() throws Exception {
    try (SimEngine engine = SimEngine.start(settings().api(EngineApi.SGLANG).build())) {
      EngineSurvey survey = new EngineSurvey(calls, TIMEOUT);
      assertThat(survey.survey(new EngineAddress(engine.url(), 50_051), null, true, null).remarks())
          .anyMatch(remark -> remark.startsWith("The grpc-port of its pod, 50051, has no effect: only vLLM"));
      assertThat(survey.survey(EngineAddress.of(engine.url()), null, true, null).remarks())
          .noneMatch(remark -> remark.contains("grpc-port"));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "VLLM, false, NixlConnector, vllm-nixl", "VLLM, true, MooncakeConnector, vllm-mooncake",
    "LLM_D, false, NixlConnector, vllm-nixl", "TENSORRT_LLM, false, cache transceiver, tensorrt-llm"
  })
  void roleThatIsGiven_goesFirst_andTheConnectorIsTheUsualOneWhereItIsNotTold(
      EngineApi api, boolean developerMode, String connector, String dialect) throws Exception {
    SimSettings.Builder settings = settings().api(api).developerMode(developerMode);
    if (developerMode) {
      settings.role(Role.DECODE).transfer(TransferSettings.of(TransferDialect.VLLM_MOONCAKE));
    }
    try (SimEngine engine = SimEngine.start(settings.build())) {
      EngineAddress address = new EngineAddress(engine.url(), null, TransferDescription.Role.PREFILL);
      SurveyedEngine surveyed = new EngineSurvey(calls, TIMEOUT).survey(address, null, true, null);

      TransferDescription transfer = surveyed.description().transfer();
      assertThat(transfer.role()).isEqualTo(TransferDescription.Role.PREFILL);
      assertThat(transfer.connector()).isEqualTo(connector);
      assertThat(KvHandover.of(surveyed).orElseThrow().dialect()).isEqualTo(dialect);
      assertThat(surveyed.remarks()).noneMatch(remark -> remark.contains("does not tell its role"));
      assertThat(surveyed.remarks().stream().anyMatch(remark -> remark.contains("NixlConnector is assumed")))
          .isEqualTo(dialect.equals("vllm-nixl"));
      assertThat(PodSettings.of(surveyed).at("/kv-transfer/dialect").asText()).isEqualTo(dialect);
      assertThat(PodSettings.of(surveyed).path("role").asText()).isEqualTo("prefill");
    }
  }

  @Test
  void roleThatIsGiven_ofAnEngineThatTellsOfNoConnector_isNotTaken() throws Exception {
    try (SimEngine engine = SimEngine.start(settings().developerMode(true).build())) {
      EngineAddress address = new EngineAddress(engine.url(), null, TransferDescription.Role.PREFILL);
      SurveyedEngine surveyed = new EngineSurvey(calls, TIMEOUT).survey(address, null, true, null);

      assertThat(KvHandover.of(surveyed)).isEmpty();
      assertThat(surveyed.remarks())
          .anyMatch(remark -> remark.contains("start it with --kv-transfer-config, or leave out its role"));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "SGLANG, , set that to decode", "VLLM, LMCacheConnectorV1, Its LMCacheConnectorV1 hands no KV blocks over",
    "VLLM, SharedStorageConnector, start it with NixlConnector"
  })
  void roleThatIsGiven_ofAnEngineThatCannotHaveIt_isNotTakenAndSaidSo(
      EngineApi api, @Nullable String connector, String remark) throws Exception {
    EngineDescription told = describe(settings().api(api).developerMode(true));
    TransferDescription transfer = connector == null ? null : new TransferDescription(connector, null, null, null);
    EngineDescription engine =
        GivenRole.taken(told.with(transfer, told.unknowns()), TransferDescription.Role.DECODE);

    assertThat(engine.transfer()).isEqualTo(transfer);
    assertThat(KvHandover.of(engine)).isEmpty();
    assertThat(new SurveyedEngine("e", engine, new EventOrigin.None("none")).remarks())
        .anyMatch(each -> each.contains(remark));
  }

  @Test
  void sglang_tellsAll() throws Exception {
    EngineDescription sglang = describe(settings().api(EngineApi.SGLANG).cachedTokens(CachedTokensUsage.NEVER));

    assertThat(sglang.identity().kind()).isEqualTo(EngineKind.SGLANG);
    assertThat(sglang.identity().version()).startsWith("0.5.23");
    assertThat(sglang.cache()).isEqualTo(new CacheDescription(32, 500, 2, true, null, false, false));
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

  /** As SGLang 0.5.23 answers when it was started with --dp-size 4 --enable-dp-attention. */
  @Test
  void sglangsGroupsOfAttention_areRanks_withReplayOfTheirOwn() throws Exception {
    String events =
        """
        {"publisher": "zmq", "endpoint_host": "*", "endpoint_port_base": 5557, "topic": "", "block_size": 64,
         "dp_size": 4, "replay_endpoint_port_base": 5657}
        """;
    EngineDescription publishing = sglang("{\"dp_size\":1,\"attn_dp_size\":4,\"kv_events\":" + events);
    assertThat(publishing.cache().ranks()).isEqualTo(4);
    assertThat(publishing.events())
        .isEqualTo(new EventPublishing.Zmq("tcp://127.0.0.1:5557", "tcp://127.0.0.1:5657", "", null, false));

    EngineDescription silent = sglang("{\"dp_size\":1,\"attn_dp_size\":4,\"kv_events\":null");
    assertThat(silent.cache().ranks()).isEqualTo(4);
    assertThat(sglang("{\"dp_size\":2,\"kv_events\":null").cache().ranks()).isEqualTo(2);
  }

  private EngineDescription sglang(String info) throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      switch (request.target().replaceFirst("\\?.*", "")) {
        case "/v1/models" -> out.json(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"sglang\"}]}");
        case "/server_info" -> out.json(200, info + ",\"disaggregation_mode\":\"null\",\"page_size\":64}");
        default -> out.json(404, "{}");
      }
    })) {
      return client.describe(pod.url(), null);
    }
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
      assertThat(client.describe(pod.url(), null).identity().kind()).isEqualTo(EngineKind.TENSORRT_LLM);
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

  @Test
  void dynamosFrontend_isARouter_whoseWorkersTellTheirBlocks() throws Exception {
    EngineDescription dynamo = describe(settings().api(EngineApi.DYNAMO).loras(List.of()));

    assertThat(dynamo.identity()).isEqualTo(
        new EngineIdentity(
            EngineKind.DYNAMO, null, null, true, Set.of(EnginePage.HEALTH, EnginePage.SIMULATION)));
    assertThat(dynamo.models()).containsExactly(new ServedModel("kvasir-demo", null, null, 16_000, null));
    assertThat(dynamo.cache()).isEqualTo(new CacheDescription(32, 1000, null, null, null, null));
    assertThat(dynamo.events()).isEqualTo(new EventPublishing.Withheld());
    assertThat(dynamo.unknowns()).isEmpty();
    try (SimEngine engine = SimEngine.start(settings().api(EngineApi.DYNAMO).build())) {
      SurveyedEngine surveyed =
          new EngineSurvey(calls, TIMEOUT).survey(EngineAddress.of(engine.url()), null, true, null);
      assertThat(surveyed.remarks()).singleElement().asString()
          .contains("It is a router itself", "give the engines, each with its own HTTP server, in its place");
    }
  }

  /** What Dynamo 1.6 answers, with two models whose workers differ, and before any worker told its blocks. */
  @Test
  void dynamosFrontend_whoseModelsDiffer_leavesTheirBlocksToTheModels() throws Exception {
    String metrics =
        """
        # HELP dynamo_frontend_model_kv_cache_block_size KV cache block size for a worker serving the model
        # TYPE dynamo_frontend_model_kv_cache_block_size gauge
        dynamo_frontend_model_kv_cache_block_size{model="qwen/qwen3-0.6b"} 16
        dynamo_frontend_model_kv_cache_block_size{model="acme/large"} 64
        dynamo_frontend_model_total_kv_blocks{model="qwen/qwen3-0.6b"} 16384
        dynamo_frontend_model_total_kv_blocks{model="elsewhere"} 99999999
        dynamo_frontend_model_workers{model="qwen/qwen3-0.6b"} 3
        dynamo_frontend_requests_total{endpoint="chat_completions",model="acme/large",status="success"} 7
        """;
    try (ScriptedPod pod = new ScriptedPod((request, out) -> dynamo(request, out, metrics))) {
      EngineDescription two = client.describe(pod.url(), null);

      assertThat(two.models()).containsExactly(
          new ServedModel("Qwen/Qwen3-0.6B", null, null, 40_960, null),
          new ServedModel("acme/large", null, null, null, null));
      assertThat(two.cache()).isEqualTo(new CacheDescription(null, 49_152, null, null, null, null));
      assertThat(two.unknowns()).singleElement()
          .satisfies(unknown -> assertThat(unknown.remedy()).contains("blocks of 16 and 64 tokens"));
    }
    try (ScriptedPod pod = new ScriptedPod((request, out) -> dynamo(request, out, ""))) {
      assertThat(unknown(client.describe(pod.url(), null)))
          .containsExactly("block size", "number of KV blocks");
    }
  }

  private static void dynamo(
      ScriptedPod.ReceivedRequest request, ScriptedPod.ScriptedResponse out, String metrics) throws Exception {
    switch (request.target()) {
      case "/v1/models" -> out.json(
          200,
          """
          {"object":"list","data":[
           {"id":"Qwen/Qwen3-0.6B","object":"model","created":1763900000,"owned_by":"nvidia","context_window":40960},
           {"id":"acme/large","object":"model","created":1763900000,"owned_by":"nvidia"}]}
          """);
      case "/health?instances=true" -> out.json(
          200,
          """
          {"status":"healthy","message":"Service is healthy","initial_discovery_complete":true,
           "initial_discovery_error":null,"endpoints":["dyn://dynamo.backend.generate"],"instances":[
           {"component":"backend","endpoint":"generate","namespace":"dynamo","instance_id":7587888160958628000,
            "transport":{"nats_tcp":"dynamo_backend.generate-694d98147d54be25"}}]}
          """);
      case "/metrics" -> out.json(200, metrics);
      default -> out.json(404, "");
    }
  }

  @Test
  void dynamosWorker_isNotAnEngine_andItsFrontendIsNamed() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      if (request.target().equals("/health")) {
        out.json(503, "{\"status\":\"notready\",\"uptime\":{\"secs\":775,\"nanos\":1},\"endpoints\":{}}");
      } else {
        out.json(404, "Route not found");
      }
    })) {
      assertThatThrownBy(() -> new EngineSurvey(calls, TIMEOUT).survey(EngineAddress.of(pod.url()), null, true, null))
          .isInstanceOf(HttpCallException.class)
          .hasMessageContainingAll("/v1/models answered 404", "a worker of Dynamo", "the URL of its frontend");
    }
  }

  /** Others own models by that name, too. */
  @Test
  void engineOfTheSameOwner_thatIsNotDynamo_isUnknown() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      switch (request.target()) {
        case "/v1/models" -> out.json(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"nvidia\"}]}");
        case "/health?instances=true" -> out.json(200, "{\"status\":\"ok\"}");
        default -> out.json(404, "{}");
      }
    })) {
      assertThat(client.describe(pod.url(), null).identity().kind()).isEqualTo(EngineKind.UNKNOWN);
      assertThat(client.identity(pod.url(), null, null).kind()).isEqualTo(EngineKind.UNKNOWN);
    }
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
      EngineDescription described = client.describe(pod.url(), null);

      assertThat(described.models()).hasSize(EngineDescription.MAX_MODELS);
      assertThat(described.baseModels()).extracting(ServedModel::name).containsExactly("m");
      assertThat(new SurveyedEngine("e", described, new EventOrigin.None("None.")).remarks())
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
      assertThatThrownBy(() -> client.describe(pod.url(), null))
          .isInstanceOf(HttpCallException.class).hasMessageContaining("/version answered 500");
    }
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      out.json(request.target().equals("/v1/models") ? 200 : 404, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"me\"}]}");
    })) {
      EngineDescription unknown = client.describe(pod.url(), null);
      assertThat(unknown.identity()).isEqualTo(new EngineIdentity(EngineKind.UNKNOWN, null, null, false, Set.of()));
      assertThat(unknown.models()).containsExactly(new ServedModel("m", null, null, null, null));
      assertThat(unknown(unknown)).containsExactly("kind", "block size", "cache events");
    }
  }

  @Test
  void anEngineThatDoesNotAnswer_orRefuses_isAFailureThatSaysWhy() throws Exception {
    URI closed = URI.create("http://127.0.0.1:" + Ports.free());
    assertThatThrownBy(() -> client.describe(closed, null)).hasMessageContaining("takes no connection");
    try (ScriptedPod locked = new ScriptedPod((request, out) -> out.json(401, "{\"error\":\"Unauthorized\"}"))) {
      assertThatThrownBy(() -> client.describe(locked.url(), "wrong")).hasMessageContaining("answered 401");
      assertThat(locked.next().headers().first("Authorization")).isEqualTo("Bearer wrong");
    }
    try (ScriptedPod empty = new ScriptedPod((request, out) -> out.json(200, "{\"data\":[]}"))) {
      assertThatThrownBy(() -> client.describe(empty.url(), null)).hasMessageContaining("names no model");
    }
  }
}
