package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.events.EventFeed;
import io.kvasir.events.SnapshotFormat;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

final class EventFeedReaderTest {
  private static final Config DEFAULTS =
      ConfigFactory.parseResources("kvasir.conf").resolve().getConfig("kvasir.events-defaults");

  private final EventFeedReader reader = new EventFeedReader(DEFAULTS);
  private final List<ConfigFault> faults = new ArrayList<>();

  @Test
  void everySource_isLaidOverItsDefaults() {
    assertThat(
            read(
                3,
                """
                [
                  { endpoint = "tcp://h:5557" }
                  { endpoint = "tcp://h:5557", replay = "tcp://h:5657", plain-only = true, once-computed = true }
                  {
                    endpoint = "tcp://h:5557"
                    other-ranks = [
                      { endpoint = "tcp://h:41233", replay = "tcp://h:41234" }
                      { endpoint = "tcp://i:5557" }
                    ]
                  }
                  { source = push, key = k }
                  { source = nats, servers = "nats://a:4222, nats://b:4222", history = 10 m }
                  { source = redis, url = "rediss://u:p@h/2", stream = "s{rank}" }
                  { source = tensorrt }
                  { source = grpc, address = "h:1" }
                ]
                """))
        .containsExactly(
            new EventFeed.Zmq("tcp://h:5557", null, "", false),
            new EventFeed.Zmq("tcp://h:5557", "tcp://h:5657", "", false, true, true, List.of(), SnapshotFormat.NONE),
            new EventFeed.Zmq(
                "tcp://h:5557", null, "", false, false, false,
                List.of(
                    new EventFeed.RankSockets("tcp://h:41233", "tcp://h:41234"),
                    new EventFeed.RankSockets("tcp://i:5557", null)),
                SnapshotFormat.NONE),
            new EventFeed.Push("k"),
            new EventFeed.Nats(
                "nats://a:4222, nats://b:4222", "", "kvasir.events.{pod}.{rank}", Duration.ofMinutes(10), null),
            new EventFeed.Redis(URI.create("rediss://u:p@h/2"), "s{rank}"),
            new EventFeed.TensorRt(null, Duration.ofMillis(50)),
            new EventFeed.Grpc("h:1", false));
    assertThat(faults).isEmpty();
  }

  @Test
  void faults_areAllTold() {
    List<EventFeed> ignored =
        read(
            2,
            """
            [
              { endpoint = "tcp://*:5557", topik = "x" }
              { source = push }, { source = push, insecure = true }
              { source = nats, servers = "http://a", subject = "kv.>" }
              { source = redis, url = "http://a", stream = "s" }
              { source = kafka }
            ]
            """);
    assertThat(ignored).hasSize(6);
    assertThat(faults)
        .extracting(ConfigFault::path)
        .containsExactlyInAnyOrder(
            "events[0].endpoint", "events[0].topik", "events[1].key",
            "events[2].source", "events[3].servers", "events[3].subject",
            "events[3].subject", "events[4].url", "events[4].stream", "events[5].source", "events[5].endpoint");
    assertThat(faults)
        .extracting(ConfigFault::problem)
        .anyMatch(problem -> problem.contains("{rank}"))
        .anyMatch(problem -> problem.contains("did you mean 'topic'"))
        .anyMatch(problem -> problem.contains("one of zmq, push, nats, redis, tensorrt, grpc"));
  }

  @Test
  void otherRanks_areAllNamed_andConnectedTo() {
    List<EventFeed> ignored =
        read(
            3,
            """
            [
              { endpoint = "tcp://h:1", other-ranks = [{ endpoint = "tcp://h:2" }] }
              {
                endpoint = "tcp://*:1", bind = true
                other-ranks = [{ endpoint = "tcp://h:2" }, { endpoint = "tcp://i:2" }]
              }
              { endpoint = "tcp://h:1", other-ranks = [{ endpoint = "tcp://*:2" }, { endpoint = "h:3", topic = t }] }
            ]
            """);
    assertThat(ignored).hasSize(3);
    assertThat(faults).extracting(fault -> fault.path() + " " + fault.problem())
        .anyMatch(fault -> fault.startsWith("events[0].other-ranks names 1 ranks besides the first, and the pod has 2"))
        .anyMatch(fault -> fault.startsWith("events[1].other-ranks is for engines that the router connects to"))
        .anyMatch(fault -> fault.startsWith("events[2].endpoint") && fault.contains("must name the engine's host"))
        .anyMatch(fault -> fault.startsWith("events[2].other-ranks[1].endpoint has to be an endpoint"))
        .anyMatch(fault -> fault.startsWith("events[2].other-ranks[1].topic"));
  }

  @Test
  void admin_readsTheSame() throws Exception {
    List<String> told = new ArrayList<>();
    ObjectMapper json = new ObjectMapper();
    assertThat(
            reader.read(
                json.readTree("{\"source\": \"redis\", \"url\": \"redis://h\"}"), 2, (path, _) -> told.add(path)))
        .containsExactly(new EventFeed.Redis(URI.create("redis://h"), "kvasir:events:{pod}:{rank}"));
    assertThat(
            reader.read(
                json.readTree("{\"endpoint\":\"tcp://h:1\",\"other-ranks\":[{\"endpoint\":\"tcp://h:9\"}]}"), 2,
                (path, _) -> told.add(path)))
        .containsExactly(
            new EventFeed.Zmq(
                "tcp://h:1", null, "", false, false, false, List.of(new EventFeed.RankSockets("tcp://h:9", null)),
                SnapshotFormat.NONE));
    assertThat(told).isEmpty();
    assertThat(
            reader.read(
                json.readTree("{\"endpoint\": \"http://x\", \"extra\": 1}"), 1, (path, _) -> told.add(path)))
        .hasSize(1);
    assertThat(told).contains("events.endpoint", "events.extra");
  }

  @Test
  void admin_namesMayHaveUnderscores() throws Exception {
    List<String> told = new ArrayList<>();
    ObjectMapper json = new ObjectMapper();
    KvTransferSettingsReader transfers =
        new KvTransferSettingsReader(ConfigFactory.parseResources("kvasir.conf").resolve()
            .getConfig("kvasir.pod-defaults"));
    for (String port : List.of("bootstrap_port", "bootstrap-port")) {
      KvTransfer transfer =
          transfers.read(
              json.readTree("{\"dialect\":\"sglang\",\"%s\":77,\"link\":{\"us_per_token\":9}}".formatted(port)),
              Role.PREFILL,
              URI.create("http://h:1"),
              (path, problem) -> told.add(path + " " + problem));
      assertThat(transfer).isNotNull();
      assertThat(Objects.requireNonNull(transfer).bootstrapPort()).isEqualTo(77);
      assertThat(transfer.link().microsPerToken()).isEqualTo(9);
    }
    assertThat(told).isEmpty();
    var _ = transfers.read(
        json.readTree("{\"dialect\":\"sglang\",\"bootstrap_port\":\"x\",\"engine_id\":\"a\",\"engine-id\":\"a\"}"),
        Role.PREFILL,
        URI.create("http://h:1"),
        (path, problem) -> told.add(path + " " + problem));
    assertThat(told)
        .anyMatch(fault -> fault.startsWith("kv_transfer.bootstrap_port has to be a whole number"))
        .anyMatch(fault -> fault.startsWith("kv_transfer.engine_id is given twice"))
        .hasSize(2);
  }

  @Test
  void snapshot_isAskedForWhereThereIsAReplay() {
    assertThat(read(2, "{ endpoint = \"tcp://h:1\", replay = \"tcp://h:11\", snapshot = vllm-50134 }"))
        .containsExactly(
            new EventFeed.Zmq(
                "tcp://h:1", "tcp://h:11", "", false, false, false, List.of(), SnapshotFormat.VLLM_50134));
    assertThat(faults).isEmpty();

    read(1, "{ endpoint = \"tcp://h:1\", snapshot = vllm-50134 }");
    assertThat(faults).singleElement().asString().contains("events.snapshot").contains("name replay");
    faults.clear();
    read(2, """
        { endpoint = "tcp://h:1", replay = "tcp://h:2", snapshot = vllm-50134
          other-ranks = [{ endpoint = "tcp://h:9" }] }
        """);
    assertThat(faults).singleElement().asString().contains("events.snapshot");
    faults.clear();
    read(1, "{ endpoint = \"tcp://h:1\", replay = \"tcp://h:2\", snapshot = vllm-1 }");
    assertThat(faults).singleElement().asString()
        .contains("has to be one of none, vllm-50134, vllm-57789, not 'vllm-1'");
  }

  @Test
  void snapshot_ofAnEndpointOfItsOwn() {
    assertThat(
            read(2, """
                { endpoint = "tcp://h:1", replay = "tcp://h:11", snapshot = vllm-57789
                  snapshot-endpoint = "tcp://h:21" }
                """))
        .containsExactly(
            new EventFeed.Zmq(
                "tcp://h:1", "tcp://h:11", "", false, false, false, List.of(), SnapshotFormat.VLLM_57789,
                "tcp://h:21"))
        .first().extracting(feed -> ((EventFeed.Zmq) feed).ofRank(1).snapshots()).isEqualTo("tcp://h:22");
    assertThat(read(2, """
        { endpoint = "tcp://h:1", replay = "tcp://h:2", snapshot = vllm-57789, snapshot-endpoint = "tcp://h:3"
          other-ranks = [{ endpoint = "tcp://h:9", replay = "tcp://h:8", snapshot-endpoint = "tcp://h:7" }] }
        """))
        .first().extracting(feed -> ((EventFeed.Zmq) feed).ofRank(1).snapshots()).isEqualTo("tcp://h:7");
    assertThat(faults).isEmpty();

    for (String lacking : List.of(
        "snapshot-endpoint = \"tcp://h:3\"",
        "replay = \"tcp://h:2\"",
        """
        replay = "tcp://h:2", snapshot-endpoint = "tcp://h:3"
        other-ranks = [{ endpoint = "tcp://h:9", replay = "tcp://h:8" }]
        """)) {
      read(2, "{ endpoint = \"tcp://h:1\", snapshot = vllm-57789, " + lacking + " }");
      assertThat(faults).singleElement().asString().contains("name snapshot-endpoint and replay");
      faults.clear();
    }
  }

  /** For all pods, of which some have no replay: engines that are only found later may be among them. */
  @Test
  void snapshot_inTheDefaults_isForPodsWithAReplay() {
    EventFeedReader all =
        new EventFeedReader(ConfigFactory.parseString("zmq.snapshot = vllm-50134").withFallback(DEFAULTS));
    Config pod =
        ConfigFactory.parseString(
            "events = [{ endpoint = \"tcp://h:1\" }, { endpoint = \"tcp://h:1\", replay = \"tcp://h:2\" }]");
    List<EventFeed> feeds = all.read(new ConfigSection(pod, "", faults), "events", 1);
    assertThat(faults).isEmpty();
    assertThat(feeds)
        .extracting(feed -> ((EventFeed.Zmq) feed).snapshot())
        .containsExactly(SnapshotFormat.NONE, SnapshotFormat.VLLM_50134);
  }

  private List<EventFeed> read(int ranks, String events) {
    return reader.read(
        new ConfigSection(ConfigFactory.parseString("events = " + events), "", faults), "events", ranks);
  }
}
