package io.kvasir.engines;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.Status;
import io.kvasir.engines.TestControl.Answer;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCallException.Kind;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.TestTls;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.load.Ports;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.vllm.GetKvEventSourcesResponse;
import io.kvasir.vllm.KvEventSource;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What vLLM tells over gRPC where its HTTP does not tell it, over real sockets. */
final class VllmControlTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  /**
   * By protoc from vLLM's own control.proto: version 0.30.0, ranks 2 and 3 of 4 behind this server, of a model with
   * 40,960 tokens at most, 24,690 blocks of 16 tokens, of 32 with decode context parallelism.
   */
  private static final Answer INFO =
      new Answer.Message(
          "0a06302e33302e301204766c6c6d1a03692d31220e08021001180420022802300438022880c002301038f2c0014080024880"
              + "4050017020");

  /** From the same: of a model called m. */
  private static final Answer MODEL =
      new Answer.Message("0a0a61636d652f6d6f64656c12016d1a0161a00101a80101c201057177656e33ca01066865726d6573");

  /** From the same: two ranks, with all fields. */
  private static final Answer SOURCES =
      new Answer.Message(
          "0a3d0a037a6d71120c7463703a2f2f2a3a353535371a026b76220c7463703a2f2f2a3a35363537280032076d73677061636b"
              + "380140904e48a08d0650a08d060a3d0a037a6d71120c7463703a2f2f2a3a353535381a026b76220c7463703a2f2f2a3a3536"
              + "3538280132076d73677061636b380140904e48a08d0650a08d06");

  private static final Answer NONE = new Answer.Failure(Status.UNIMPLEMENTED);

  private final HttpCalls calls = new HttpCalls();
  private final EngineClient client = new EngineClient(calls, TIMEOUT);

  @AfterEach
  void close() {
    calls.close();
  }

  /** A frontend in Rust as it was at first, whose pages tell no more than that it is vLLM. */
  private static ScriptedPod frontend() throws IOException {
    return new ScriptedPod((request, out) -> {
      switch (request.target()) {
        case "/v1/models" -> out.json(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm-frontend-rs\"}]}");
        case "/version" -> out.json(200, "{\"version\":\"0.30.0\",\"rust_frontend_version\":\"0.30.0\"}");
        default -> out.json(404, "{}");
      }
    });
  }

  private EngineDescription described(Answer info, Answer sources) throws Exception {
    try (ScriptedPod pod = frontend();
        TestControl control = new TestControl(null, info, info.equals(INFO) ? MODEL : NONE, sources)) {
      return client.describe(new EngineAddress(pod.url(), control.port()), null, null);
    }
  }

  private static Answer sources(KvEventSource.Builder... sources) {
    GetKvEventSourcesResponse.Builder answer = GetKvEventSourcesResponse.newBuilder();
    List.of(sources).forEach(answer::addSources);
    return new Answer.Message(HexFormat.of().formatHex(answer.build().toByteArray()));
  }

  private static KvEventSource.Builder source() {
    return KvEventSource.newBuilder().setTransport("zmq").setEndpoint("tcp://*:5557").setDataParallelRank(0)
        .setEncoding("msgpack").setSchemaVersion(1);
  }

  @Test
  void whatHttpDoesNotTell_isAsThoughItHadTold() throws Exception {
    EngineDescription vllm = described(INFO, SOURCES);

    assertThat(vllm.identity().toString()).isEqualTo("vLLM 0.30.0");
    assertThat(vllm.grpcPort()).isNotNull();
    assertThat(vllm.cache()).isEqualTo(new CacheDescription(32, 12_345, 2, null, null, null));
    assertThat(vllm.models()).containsExactly(new ServedModel("m", "acme/model", null, 40_960, null));
    assertThat(vllm.events())
        .isEqualTo(new EventPublishing.Zmq("tcp://127.0.0.1:5557", "tcp://127.0.0.1:5657", "kv", 10_000, false));
    assertThat(vllm.unknowns()).extracting(Unknown::what)
        .containsExactly("usage of cached tokens", "role and connector");
  }

  @Test
  void enginesHttp_thatTellsEnough_isBelieved() throws Exception {
    try (SimEngine engine =
            SimEngine.start(SimSettings.builder().port(0).events(EventSettings.DEFAULT.withLoopback()).build());
        TestControl control = new TestControl(null, INFO, MODEL, SOURCES)) {
      EngineDescription described = client.describe(new EngineAddress(engine.url(), control.port()), null, null);
      assertThat(described).isEqualTo(client.describe(engine.url(), null));
      assertThat(described.grpcPort()).isNull();
    }
  }

  @Test
  void simulatedEngine_tellsByItsGrpcWhatItLeavesOutOfItsPages() throws Exception {
    try (SimEngine engine =
        SimEngine.start(
            SimSettings.builder().port(0).grpcPort(0).ranks(2).capacityBlocks(500)
                .events(EventSettings.DEFAULT.withLoopback()).build())) {
      EngineAddress address = new EngineAddress(engine.url(), engine.grpcPort());
      EngineDescription asked = client.describe(address, null, null);
      assertThat(asked.events()).isInstanceOfSatisfying(EventPublishing.Zmq.class, zmq -> {
        assertThat(zmq.endpoint()).isEqualTo(engine.eventsEndpoint());
        assertThat(zmq.replay()).isEqualTo(engine.replayEndpoint());
        assertThat(zmq.bufferSteps()).isEqualTo(10_000);
      });
      assertThat(client.describe(address, null, asked.identity())).as("asked again").isEqualTo(asked);

      EngineDescription byHttp = client.describe(engine.url(), null);
      assertThat(byHttp.events()).isEqualTo(new EventPublishing.Untold());
      assertThat(byHttp.unknowns()).anyMatch(unknown ->
          unknown.what().equals(Unknown.EVENTS) && unknown.remedy().contains("give that as grpc-port"));
    }
  }

  @Test
  void eventsThatAreNotRead_areToldInWords_withTheRemedy() throws Exception {
    for (KvEventSource.Builder other : List.of(
        source().setTransport("nats"), source().setEncoding("x".repeat(50_000)), source().setSchemaVersion(2))) {
      try (ScriptedPod pod = frontend();
          TestControl control = new TestControl(null, INFO, MODEL, sources(other))) {
        SurveyedEngine surveyed =
            new EngineSurvey(calls, TIMEOUT)
                .survey(new EngineAddress(pod.url(), control.port()), null, true, null);
        assertThat(surveyed.description().events()).isInstanceOf(EventPublishing.Unusable.class);
        assertThat(surveyed.events()).isInstanceOfSatisfying(EventOrigin.None.class, none ->
            assertThat(none.why()).contains("the router reads msgpack of version 1 by zmq").hasSizeLessThan(400));
      }
    }
  }

  @Test
  void sources_ofNoRank_areOfUseForOneRankOnly() throws Exception {
    assertThat(described(NONE, sources(source().clearDataParallelRank())).events())
        .isEqualTo(new EventPublishing.Zmq("tcp://127.0.0.1:5557", null, "", null, false));
    assertThat(described(INFO, sources(source().clearDataParallelRank())).events())
        .isInstanceOf(EventPublishing.Unusable.class);
    assertThat(described(NONE, sources(source(), source().clearDataParallelRank())).events())
        .isInstanceOf(EventPublishing.Unusable.class);
    // The others' caches would be believed to be empty.
    assertThat(described(INFO, sources(source())).events()).isEqualTo(new EventPublishing.Untold());
    assertThat(described(INFO, sources(source(), source())).events()).isEqualTo(new EventPublishing.Untold());
    assertThat(described(INFO, sources()).events()).isEqualTo(new EventPublishing.Off());
  }

  @Test
  void figuresThatAreNone_areNotTold() throws Exception {
    // All numbers at their highest, which are negative where they are not taken for what they are.
    Answer wild =
        new Answer.Message(
            "220c18ffffffff0f38ffffffff0f28ffffffff0f30ffffffff0f38ffffffffffffffffff0170ffffffffffffffffff01");
    assertThat(described(wild, NONE).cache()).isEqualTo(CacheDescription.UNTOLD);
    assertThat(described(new Answer.Message(""), NONE).cache()).isEqualTo(CacheDescription.UNTOLD);
  }

  @Test
  void serviceThatIsNotThere_isSaid() throws Exception {
    EngineDescription described = described(NONE, NONE);
    assertThat(described.events()).isEqualTo(new EventPublishing.Untold());
    assertThat(described.unknowns()).anyMatch(unknown ->
        unknown.what().equals(Unknown.EVENTS) && unknown.remedy().contains("its gRPC does not tell either"));
  }

  @Test
  void portWhereNobodyAnswersSo_isAFault_withTheRemedy() throws Exception {
    try (ScriptedPod pod = frontend()) {
      EngineAddress closed = new EngineAddress(pod.url(), Ports.free());
      assertThatThrownBy(() -> new EngineSurvey(calls, TIMEOUT).survey(closed, null, true, null))
          .isInstanceOfSatisfying(HttpCallException.class, fault -> assertThat(fault.kind()).isEqualTo(Kind.IO))
          .hasMessageContainingAll("gRPC at 127.0.0.1:" + closed.grpcPort(), "UNAVAILABLE", "is that its --grpc-port");
      EngineAddress http = new EngineAddress(pod.url(), pod.url().getPort());
      assertThatThrownBy(() -> new EngineSurvey(calls, TIMEOUT).survey(http, null, true, null))
          .hasMessageContainingAll("gRPC at 127.0.0.1:" + http.grpcPort(), "is that its --grpc-port");
    }
  }

  @Test
  void questions_haveADeadline_andAnswersASize() throws Exception {
    EngineAddress engine = EngineAddress.of(URI.create("http://127.0.0.1:1"));
    try (TestControl silent = new TestControl(null, INFO, MODEL, new Answer.Silence())) {
      assertThatThrownBy(() -> new VllmControl(null, Duration.ofMillis(100)).query(engine, silent.port()))
          .isInstanceOfSatisfying(HttpCallException.class, fault -> assertThat(fault.kind()).isEqualTo(Kind.TIMEOUT));
    }
    Answer endless = sources(source().setTopic("x".repeat(2 << 20)));
    try (TestControl talking = new TestControl(null, INFO, MODEL, endless)) {
      assertThatThrownBy(() -> new VllmControl(null, TIMEOUT).query(engine, talking.port()))
          .isInstanceOfSatisfying(HttpCallException.class, fault -> assertThat(fault.kind()).isEqualTo(Kind.TOO_LARGE));
    }
    try (TestControl refusing =
        new TestControl(null, INFO, MODEL, new Answer.Failure(Status.PERMISSION_DENIED))) {
      assertThatThrownBy(() -> new VllmControl(null, TIMEOUT).query(engine, refusing.port()))
          .hasMessageContaining("gRPC at 127.0.0.1:" + refusing.port() + " fails: PERMISSION_DENIED");
    }
  }

  @Test
  void engineWithTls_isAskedByTls() throws Exception {
    TestTls own = TestTls.forHost("localhost");
    TestTls other = TestTls.forHost("localhost");
    EngineAddress engine = EngineAddress.of(URI.create("https://localhost:1"));
    try (TestControl control = new TestControl(own.context(), INFO, MODEL, SOURCES)) {
      VllmControl.Answers answers = new VllmControl(own.context(), TIMEOUT).query(engine, control.port());
      assertThat(Objects.requireNonNull(answers.sources()).getSourcesCount()).isEqualTo(2);
      assertThatThrownBy(() -> new VllmControl(other.context(), TIMEOUT).query(engine, control.port()))
          .isInstanceOfSatisfying(HttpCallException.class, fault -> assertThat(fault.kind()).isEqualTo(Kind.IO));
    }
  }
}
