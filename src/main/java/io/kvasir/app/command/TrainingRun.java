package io.kvasir.app.command;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigValueFactory;
import io.kvasir.access.KeyDigest;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.kvasir.app.node.NodeSupervisor;
import io.kvasir.app.node.StartException;
import io.kvasir.app.warmup.Entrance;
import io.kvasir.app.warmup.SampleTraffic;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import io.kvasir.telemetry.Problem;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * A run of Kvasir for the JVM to record an AOT cache from: router nodes and simulated engines in this process, on
 * loopback, under {@link SampleTraffic}. Two nodes of a cluster decide for each other, with keys and limits; another
 * node has prompts read by one engine and answered by a second. No endpoint picker runs: each node has all classes of
 * the cache in memory from its start, and gRPC's are 17 MB that few nodes use; those that do start 0.3 s later.
 */
final class TrainingRun {
  private static final String KEY = "sk-of-the-training-run-0123456789";
  private static final int CLIENTS = 16;
  private static final Duration START_LIMIT = Duration.ofSeconds(20);
  private static final Duration POLL = Duration.ofMillis(20);
  private static final int FAST = 100;

  /** On a busy machine a few of so many may come too late for something; the JVM learns as much from the others. */
  private static final int MOST_FAILED = 20;

  private final int requests;
  private final Duration longest;

  /** A run that sends so many requests, or for so long if that is less, in each of its parts a share of it. */
  TrainingRun(int requests, Duration longest) {
    this.requests = requests;
    this.longest = longest;
  }

  /**
   * Runs.
   *
   * @return how many requests were answered
   * @throws StartException when a part does not start, or a request fails
   */
  int run() throws StartException, ConfigException, IOException, InterruptedException {
    return cluster() + prefillDecode();
  }

  private int cluster() throws StartException, ConfigException, IOException, InterruptedException {
    List<Integer> ports = freePorts();
    try (SimEngine first = engine(0, Role.BOTH);
        SimEngine second = engine(1, Role.BOTH)) {
      Config shared =
          ConfigFactory.parseString(
              """
              kvasir {
                cluster.seed-nodes = ["127.0.0.1:%d"]
                access.keys = [{
                  id = training, tenant = training, sha256 = "%s"
                  limits { requests-per-minute = 100000000, tokens-per-minute = 1000000000000 }
                }]
              }
              """
                  .formatted(ports.getFirst(), KeyDigest.of(KEY).hex()));
      List<SimEngine> engines = List.of(first, second);
      try (Node seed = new Node(config(at(shared, ports.getFirst()), engines));
          Node other = new Node(config(at(shared, ports.getLast()), engines))) {
        return exercise(List.of(seed, other), requests / 4 * 3, longest.dividedBy(4).multipliedBy(3));
      }
    }
  }

  private int prefillDecode() throws StartException, ConfigException, IOException, InterruptedException {
    try (SimEngine prefill = engine(0, Role.PREFILL);
        SimEngine decode = engine(1, Role.DECODE);
        NodeSupervisor supervisor =
            start(
                config(
                    ConfigFactory.parseString(
                        """
                        kvasir.routing {
                          profile = prefill-decode
                          profiles.prefill-decode.workflow.remote-prefill = always
                        }
                        """),
                    List.of(prefill, decode)))) {
      return exercise(List.of(supervisor.node()), requests / 4, longest.dividedBy(4));
    }
  }

  /** With its warm-up. */
  private static NodeSupervisor start(KvasirConfig config) throws StartException {
    return new NodeSupervisor(() -> config, config);
  }

  private static int exercise(List<Node> nodes, int requests, Duration longest)
      throws StartException, InterruptedException {
    long end = System.nanoTime() + START_LIMIT.toNanos();
    for (Node node : nodes) {
      while (!node.readiness().obstacles().isEmpty()) {
        if (System.nanoTime() - end > 0) {
          throw new StartException(
              "a node did not get ready: " + node.readiness().obstacles().stream().map(Problem::line).toList());
        }
        Thread.sleep(POLL);
      }
    }
    try (SampleTraffic traffic = new SampleTraffic(KEY)) {
      List<Entrance> entrances = nodes.stream().map(node -> traffic.gateway(node.gatewayUrl())).toList();
      traffic.send(entrances, List.of(ModelConfig.DEMO), CLIENTS, requests, longest);
      nodes.forEach(node -> traffic.observe(node.managementUrl()));
      if (traffic.failed() * MOST_FAILED > traffic.answered()) {
        throw new StartException(traffic.failed() + " requests failed, the first: " + traffic.failure());
      }
      return traffic.answered();
    }
  }

  private static SimEngine engine(int number, Role role) throws IOException {
    return SimEngine.start(
        SimSettings.builder()
            .host("127.0.0.1")
            .port(0)
            .model(ModelConfig.DEMO)
            .speed(FAST)
            .seed(number)
            .role(role)
            .transfer(role == Role.BOTH ? TransferSettings.NONE : TransferSettings.of(TransferDialect.VLLM_NIXL))
            .events(EventSettings.DEFAULT.withLoopback())
            .build());
  }

  private static KvasirConfig config(Config own, List<SimEngine> engines) throws ConfigException {
    List<Map<String, Object>> pods =
        IntStream.range(0, engines.size()).mapToObj(i -> pod("sim-" + i, engines.get(i))).toList();
    return KvasirConfig.withoutEnvironment(
        own.withFallback(
            ConfigFactory.parseString(
                    """
                    pekko.cluster.jmx.multi-mbeans-in-same-jvm = on
                    kvasir {
                      gateway { host = "127.0.0.1", port = 0, drain-timeout = 100 ms }
                      management.port = 0
                      models = [{ name = %1$s, directory = "bundled:%1$s" }]
                    }
                    """
                        .formatted(ModelConfig.DEMO))
                .withValue("kvasir.pods", ConfigValueFactory.fromIterable(pods))));
  }

  private static Map<String, Object> pod(String name, SimEngine engine) {
    return Map.of(
        "name", name,
        "url", engine.url().toString(),
        "models", List.of(ModelConfig.DEMO),
        "engine", "h100-Qwen2.5-7B-tp1",
        "role", engine.settings().role().name().toLowerCase(Locale.ROOT),
        "kv-transfer", Map.of("dialect", engine.settings().kv().transfer().dialect().toString()),
        "events", Map.of(
            "endpoint", String.valueOf(engine.eventsEndpoint()), "replay", String.valueOf(engine.replayEndpoint())));
  }

  private static Config at(Config shared, int clusterPort) {
    return shared.withValue("kvasir.cluster.port", ConfigValueFactory.fromAnyRef(clusterPort));
  }

  /** Two ports for nodes that have to know each other's. */
  private static List<Integer> freePorts() throws IOException {
    try (ServerSocket first = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        ServerSocket second = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return List.of(first.getLocalPort(), second.getLocalPort());
    }
  }
}
