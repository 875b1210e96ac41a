package io.kvasir.doctor;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import io.kvasir.doctor.Doctor.Subjects;
import io.kvasir.doctor.check.Finding;
import io.kvasir.doctor.check.Severity;
import io.kvasir.doctor.exam.EngineExaminer.Timeouts;
import io.kvasir.doctor.exam.EngineTarget;
import io.kvasir.events.EventFeed;
import io.kvasir.events.TestEventService;
import io.kvasir.events.TestServer;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.HttpCalls.Request;
import io.kvasir.load.Ports;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.nats.client.Connection;
import io.nats.client.JetStreamApiException;
import io.nats.client.Nats;
import io.nats.client.api.StorageType;
import io.nats.client.api.StreamConfiguration;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;

/** Events that come otherwise than by a socket of the engine's: by real servers, which have each fault. */
final class DoctorFeedsIT {
  private static final String MODEL = "kvasir-demo";

  /** The second is for events that come after a while, or not at all. */
  private static final Timeouts PATIENT =
      new Timeouts(Duration.ofSeconds(60), Duration.ofSeconds(10), Duration.ofSeconds(20));
  private static final Timeouts HASTY =
      new Timeouts(Duration.ofSeconds(60), Duration.ofSeconds(10), Duration.ofMillis(200));

  @TempDir private static Path directory = Path.of("");

  private static HttpCalls calls;

  private static SimEngine engine;

  private static TestServer nats;

  private static TestServer redis;

  private static Connection publisher;

  @BeforeAll
  static void start() throws Exception {
    calls = new HttpCalls();
    engine =
        SimEngine.start(
            SimSettings.builder().port(0).speed(0).capacityBlocks(1000).events(EventSettings.DEFAULT.withLoopback())
                .build());
    nats = TestServer.nats(directory);
    redis = TestServer.redis(directory, true);
    publisher = Nats.connect("nats://127.0.0.1:" + nats.port());
    assertThat(
        publisher.jetStreamManagement().addStream(
            StreamConfiguration.builder().name("KV").subjects("kv.>").storageType(StorageType.Memory).build()))
        .isNotNull();
  }

  @AfterAll
  static void stop() throws InterruptedException {
    engine.close();
    publisher.close();
    nats.close();
    redis.close();
    calls.close();
  }

  private static List<Finding> examine(Timeouts timeouts, EventFeed feed, SimEngine examined)
      throws InterruptedException {
    EngineTarget target = new EngineTarget("pod", examined.url(), null, Set.of(MODEL), 16, 1, List.of(feed));
    return new Doctor(calls, timeouts, Clock.system(ZoneId.systemDefault()))
        .examine(new Subjects(List.of(target), List.of(ModelConfig.demo(MODEL, 16)), List.of(), null), _ -> { })
        .findings();
  }

  private static List<Finding> examine(Timeouts timeouts, EventFeed feed) throws InterruptedException {
    return examine(timeouts, feed, engine);
  }

  private static Finding only(List<Finding> findings, String check, Severity severity) {
    assertThat(findings).extracting(Finding::check).containsExactly(check);
    assertThat(findings.getFirst().severity()).isEqualTo(severity);
    return findings.getFirst();
  }

  /** A bridge that hears the engine. */
  private static EventBridge bridge(Consumer<byte[]> onPayload) {
    EventBridge bridge = new EventBridge(String.valueOf(engine.eventsEndpoint()), onPayload);
    Await.await("the bridge to hear the engine", () -> {
      String prompt = UUID.randomUUID().toString().repeat(4);
      byte[] body =
          """
          {"model": "%s", "prompt": "%s", "max_tokens": 1}"""
              .formatted(MODEL, prompt).getBytes(UTF_8);
      Request request = Request.post(engine.url().resolve("/v1/completions"), body, Duration.ofSeconds(60));
      assertThat(calls.send(request).status()).isEqualTo(200);
      return bridge.heard();
    });
    return bridge;
  }

  private static EventFeed nats(int port, String stream, String subject) {
    return new EventFeed.Nats("nats://ada:secret@127.0.0.1:" + port, stream, subject, Duration.ofHours(1), null);
  }

  private static void toNats(String subject, byte[] payload) {
    try {
      publisher.jetStream().publish(subject, payload);
    } catch (IOException | JetStreamApiException failed) {
      throw new IllegalStateException(failed);
    }
  }

  @Test
  void nats_withTheEnginesEvents_hasNothingWrong() throws Exception {
    try (EventBridge _ = bridge(payload -> toNats("kv.pod.0", payload))) {
      assertThat(examine(PATIENT, nats(nats.port(), "", "kv.{pod}.{rank}"))).isEmpty();
    }
  }

  @Test
  void nats_isNotReached_orHasNoSuchStream() throws Exception {
    Finding unreachable = only(examine(HASTY, nats(Ports.free(), "", "kv.pod.0")), "event-feeds", Severity.ERROR);
    assertThat(unreachable.problem()).contains("the subject kv.pod.0 at nats://127.0.0.1:", "by nats: ")
        .doesNotContain("secret");
    assertThat(unreachable.remedy()).contains("events.servers", "-js");
    assertThat(only(examine(HASTY, nats(nats.port(), "", "other.pod")), "event-feeds", Severity.ERROR).problem())
        .endsWith("no stream has the subject other.pod");
    assertThat(only(examine(HASTY, nats(nats.port(), "NONE", "kv.pod.0")), "event-feeds", Severity.ERROR).problem())
        .contains("stream not found");
  }

  @Test
  void nats_hasNoEventsOfTheEngine_orSomethingElse() throws Exception {
    Finding silent = only(examine(HASTY, nats(nats.port(), "KV", "kv.nobody")), "event-feeds", Severity.ERROR);
    assertThat(silent.problem()).contains("did not come to the subject kv.nobody", "where 0 messages are kept");
    assertThat(silent.remedy()).contains("events.subject");
    try (EventBridge _ = bridge(_ -> toNats("kv.garbled", new byte[] {(byte) 0xc1}))) {
      // Until a message has come in time.
      List<Finding> found = new ArrayList<>();
      Await.await("something that is no batch to come", () -> {
        found.clear();
        found.addAll(examine(HASTY, nats(nats.port(), "KV", "kv.garbled")));
        return found.stream().noneMatch(finding -> finding.check().equals("event-feeds"));
      });
      assertThat(only(found, "events", Severity.ERROR).problem()).contains("cannot be read");
    }
  }

  private static EventFeed redis(String server, String stream) {
    return new EventFeed.Redis(URI.create("redis://" + server), stream);
  }

  private static String redisServer() {
    return "127.0.0.1:" + redis.port();
  }

  @Test
  void redis_withTheEnginesEvents_hasNothingWrong() throws Exception {
    try (Jedis jedis = new Jedis("127.0.0.1", redis.port());
        EventBridge _ = bridge(
            payload -> jedis.sendCommand(
                Command.XADD, "kv:pod".getBytes(UTF_8), "*".getBytes(UTF_8), "batch".getBytes(UTF_8), payload))) {
      assertThat(examine(PATIENT, redis(redisServer(), "kv:{pod}"))).isEmpty();
    }
  }

  @Test
  void redis_isNotReached_orRefuses_orHasNoEvents() throws Exception {
    Finding gone = only(examine(HASTY, redis("127.0.0.1:" + Ports.free(), "kv:pod")), "event-feeds", Severity.ERROR);
    assertThat(gone.problem()).contains("the stream kv:pod at 127.0.0.1:", "by redis: ");
    assertThat(gone.remedy()).contains("events.url");
    assertThat(
        only(examine(HASTY, redis("ada:secret@" + redisServer(), "kv:pod")), "event-feeds", Severity.ERROR).problem())
        .contains("by redis: ").doesNotContain("secret");
    try (Jedis jedis = new Jedis("127.0.0.1", redis.port())) {
      assertThat(jedis.set("kv:text", "no stream")).isEqualTo("OK");
    }
    assertThat(only(examine(HASTY, redis(redisServer(), "kv:text")), "event-feeds", Severity.ERROR).problem())
        .contains("WRONGTYPE");
    Finding silent = only(examine(HASTY, redis(redisServer(), "kv:nobody")), "event-feeds", Severity.ERROR);
    assertThat(silent.problem()).contains("did not come to the stream kv:nobody");
    assertThat(silent.remedy()).contains("events.stream");
  }

  @Test
  void grpc_withTheEnginesEvents_hasNothingWrong() throws Exception {
    try (TestEventService service = new TestEventService(true); EventBridge _ = bridge(service::publish)) {
      assertThat(examine(PATIENT, new EventFeed.Grpc(service.address(), false))).isEmpty();
    }
  }

  @Test
  void grpc_isNotReached_orHasNoSuchService_orNoEvents() throws Exception {
    Finding gone =
        only(examine(HASTY, new EventFeed.Grpc("127.0.0.1:" + Ports.free(), false)), "event-feeds", Severity.ERROR);
    assertThat(gone.problem()).contains("by grpc: UNAVAILABLE");
    try (TestEventService other = new TestEventService(false); TestEventService silent = new TestEventService(true)) {
      Finding unknown = only(examine(HASTY, new EventFeed.Grpc(other.address(), false)), "event-feeds", Severity.ERROR);
      assertThat(unknown.problem()).contains("by grpc: UNIMPLEMENTED");
      assertThat(unknown.remedy()).contains("events.address");
      Finding none = only(examine(HASTY, new EventFeed.Grpc(silent.address(), false)), "event-feeds", Severity.ERROR);
      assertThat(none.problem()).contains("did not come to rank 0 at " + silent.address());
    }
  }

  @Test
  void anEngineThatDials_isHeard_andOneThatDoesNotIsNamed() throws Exception {
    String endpoint = "tcp://127.0.0.1:" + Ports.free();
    EventSettings dialling =
        new EventSettings(
            true, "127.0.0.1", new EventSettings.PubSettings(0, endpoint),
            new EventSettings.ReplaySettings(false, 0, true, 0), "", EventFormat.VLLM);
    try (SimEngine dials =
        SimEngine.start(SimSettings.builder().port(0).speed(0).capacityBlocks(1000).events(dialling).build())) {
      assertThat(examine(PATIENT, new EventFeed.Zmq(endpoint, null, "", true), dials)).isEmpty();
    }
    Timeouts brief = new Timeouts(Duration.ofSeconds(60), Duration.ofMillis(300), Duration.ofMillis(200));
    EventFeed nobody = new EventFeed.Zmq("tcp://127.0.0.1:" + Ports.free(), null, "", true);
    List<Finding> findings = examine(brief, nobody);
    assertThat(findings).extracting(Finding::check).containsExactly("event-transport", "event-feeds");
    assertThat(findings.getFirst().problem()).contains("it listens at " + engine.eventsEndpoint());
    Finding finding = findings.getLast();
    assertThat(finding.problem()).contains("does not dial tcp://127.0.0.1:");
    assertThat(finding.remedy()).contains("--kv-events-config");
  }
}
