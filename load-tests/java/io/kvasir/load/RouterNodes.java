package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.sim.SimEngine;
import java.io.IOException;
import java.math.BigInteger;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Router nodes of one cluster, each a process of its own, before the same engines. Thread-safe. */
final class RouterNodes implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(90);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Path launcher;
  private final Path work;
  private final List<Node> nodes;
  private final NodeNetwork network;

  /** Nodes that are not on loopback are to be administered by those only who have one. */
  private final String adminKey = new BigInteger(128, new SecureRandom()).toString(36);

  private final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(1)).build();

  /** A node: where it listens, its process, and whether clients should send it new requests. */
  static final class Node {
    private final int number;
    private final String host;
    private final int gateway = Ports.free();
    private final int management = Ports.free();
    private volatile @Nullable Process process;
    private volatile boolean open;
    private volatile boolean partitioned;

    private Node(int number, String host) {
      this.number = number;
      this.host = host;
    }

    int number() {
      return number;
    }

    URI gateway(String path) {
      return URI.create("http://" + host + ":" + gateway + path);
    }

    private URI management(String path) {
      return URI.create("http://" + host + ":" + management + path);
    }

    /** Whether a load balancer would send it requests: it is ready, and its shutdown has not begun. */
    boolean isOpen() {
      return open;
    }

    /** Whether the others cannot reach it, or could not until now. */
    boolean isPartitioned() {
      return partitioned;
    }

    boolean isAlive() {
      Process now = process;
      return now != null && now.isAlive();
    }
  }

  /**
   * Starts {@code running} of {@code known} nodes.
   *
   * @param work where logs and configurations go
   * @param network what lies between the known ones
   */
  RouterNodes(
      Path launcher,
      Path work,
      int known,
      int running,
      List<SimEngine> engines,
      int maxInFlight,
      String extra,
      NodeNetwork network)
      throws IOException {
    this.launcher = launcher;
    this.work = Files.createDirectories(work);
    this.network = network;
    this.nodes = IntStream.range(0, known).mapToObj(node -> new Node(node, network.host(node))).toList();
    for (Node node : nodes) {
      Files.writeString(config(node), configuration(node, running, engines, maxInFlight, extra));
    }
    for (int i = 0; i < running; i++) {
      launch(nodes.get(i));
    }
  }

  List<Node> all() {
    return nodes;
  }

  /** Starts a node that is not running; it is open once it is ready. */
  void launch(Node node) throws IOException {
    node.process =
        new ProcessBuilder(
                network.command(
                    node.number, List.of(launcher.toString(), "serve", "--config", config(node).toString())))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log(node).toFile()))
            .start();
  }

  /** Waits until a node is ready and sees {@code workers} healthy ones; clients may use it from then on. */
  void awaitReady(Node node, int workers) throws InterruptedException {
    await(
        "node " + node.number + " to be ready",
        () -> {
          if (!node.isAlive()) {
            throw new IllegalStateException("node " + node.number + " has ended; " + log(node) + " has its words");
          }
          return get(node, "/ready") != null
              && workers(node).filter(list -> healthy(list) == workers).isPresent();
        });
    node.open = true;
  }

  /** Kills a node as a crash would. Returns when, in {@link System#nanoTime}. */
  long kill(Node node) throws InterruptedException {
    node.open = false;
    Process process = running(node);
    long now = System.nanoTime();
    process.destroyForcibly();
    process.waitFor();
    return now;
  }

  /** Stops a node as an operator would, and waits until it has ended. Returns the time of the signal. */
  long stop(Node node) throws InterruptedException {
    node.open = false;
    Process process = running(node);
    long now = System.nanoTime();
    process.destroy();
    if (!process.waitFor(60, TimeUnit.SECONDS)) {
      throw new IllegalStateException("node " + node.number + " did not end within 60 s of SIGTERM");
    }
    return now;
  }

  /** Cuts a node off from the others; its clients and the engines still reach it. */
  long partition(Node node) throws IOException {
    node.partitioned = true;
    long now = System.nanoTime();
    network.partition(node.number);
    return now;
  }

  /** Ends the cut, and waits until every node sees {@code running} of them up, and {@code workers} healthy ones. */
  void heal(int running, int workers) throws IOException, InterruptedException {
    network.heal();
    for (Node node : nodes.subList(0, running)) {
      await("node " + node.number + " to see all others", () -> up(node) == running);
      awaitReady(node, workers);
      node.partitioned = false;
    }
  }

  private int up(Node node) {
    JsonNode status = get(node, "/admin/cluster");
    int up = 0;
    if (status != null) {
      for (JsonNode member : status.path("nodes")) {
        up += member.path("state").asText().equals("up") ? 1 : 0;
      }
    }
    return up;
  }

  /** The home of the only cell as some open node reports it; null while there is none. */
  @Nullable Node home() {
    return nodes.stream().filter(Node::isOpen).map(this::home).filter(Objects::nonNull).findFirst().orElse(null);
  }

  /** The home of the only cell as a node reports it; null while it knows none. */
  @Nullable Node home(Node queried) {
    JsonNode status = get(queried, "/admin/cluster");
    String home = status == null ? "" : status.path("cells").path(0).path("home").asText("");
    return nodes.stream().filter(node -> home.endsWith(network.address(node.number))).findFirst().orElse(null);
  }

  /** Requests booked on all workers, as an open node reports; -1 when none answers. */
  int inFlight() {
    for (Node node : nodes) {
      if (node.isOpen()) {
        int sum = workers(node).map(RouterNodes::inFlight).orElse(-1);
        if (sum >= 0) {
          return sum;
        }
      }
    }
    return -1;
  }

  /** Decisions that homes on other nodes have made, as the open nodes have measured them. */
  RemoteDecisions remoteDecisions() {
    RemoteDecisions all = RemoteDecisions.NONE;
    for (Node node : nodes) {
      if (node.isOpen()) {
        all = all.plus(RemoteDecisions.of(metrics(node)));
      }
    }
    return all;
  }

  private Optional<JsonNode> workers(Node node) {
    JsonNode answer = get(node, "/admin/workers");
    return answer == null ? Optional.empty() : Optional.of(answer.path("workers"));
  }

  private static int healthy(JsonNode workers) {
    int healthy = 0;
    for (JsonNode worker : workers) {
      healthy += worker.path("health").asText().equalsIgnoreCase("healthy") ? 1 : 0;
    }
    return healthy;
  }

  private static int inFlight(JsonNode workers) {
    int sum = 0;
    for (JsonNode worker : workers) {
      sum += worker.path("in_flight").asInt();
    }
    return sum;
  }

  /** A node's metrics, empty when it does not answer. */
  String metrics(Node node) {
    return Objects.requireNonNullElse(text(node, "/metrics"), "");
  }

  /** What a node's management port answers, null without a good answer. */
  private @Nullable JsonNode get(Node node, String path) {
    String body = text(node, path);
    try {
      return body == null ? null : JSON.readTree(body);
    } catch (IOException noJson) {
      return null;
    }
  }

  private @Nullable String text(Node node, String path) {
    try {
      HttpResponse<String> response =
          http.send(
              HttpRequest.newBuilder(node.management(path))
                  .header("Authorization", "Bearer " + adminKey)
                  .timeout(Duration.ofSeconds(3))
                  .build(),
              BodyHandlers.ofString());
      return response.statusCode() == 200 ? response.body() : null;
    } catch (IOException notNow) {
      return null;
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  private static Process running(Node node) {
    Process process = node.process;
    if (process == null) {
      throw new IllegalStateException("node " + node.number + " has not been started");
    }
    return process;
  }

  private static void await(String what, BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + TIMEOUT.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw new IllegalStateException("gave up waiting for " + what);
      }
      Thread.sleep(100);
    }
  }

  private Path log(Node node) {
    return work.resolve("node-" + node.number + ".log");
  }

  private Path config(Node node) {
    return work.resolve("node-" + node.number + ".conf");
  }

  private String configuration(Node node, int seeds, List<SimEngine> engines, int maxInFlight, String extra) {
    String pods =
        IntStream.range(0, engines.size())
            .mapToObj(
                i ->
                    """
                    { name = engine-%d, url = "%s", models = [kvasir-demo]
                      events { endpoint = "%s", replay = "%s" } }"""
                        .formatted(
                            i,
                            engines.get(i).url(),
                            engines.get(i).eventsEndpoint(),
                            engines.get(i).replayEndpoint()))
            .collect(Collectors.joining("\n    "));
    String seedNodes =
        nodes.stream()
            .limit(seeds)
            .map(seed -> '"' + network.address(seed.number) + '"')
            .collect(Collectors.joining(", "));
    return """
        kvasir {
          gateway { host = "%s", port = %d }
          access.open-routing-details = true
          management { host = "%s", port = %d, admin-keys = ["%s"] }
          cluster.seed-nodes = [%s]
          models = [{ name = kvasir-demo, directory = "bundled:kvasir-demo", block-size = 16 }]
          pod-defaults { engine = "h100-Qwen2.5-7B-tp1", max-in-flight = %d }
          pods = [
            %s
          ]
          %s
        }
        %s"""
        .formatted(
            node.host, node.gateway, node.host, node.management, adminKey, seedNodes, maxInFlight, pods, extra,
            network.settings(node.number));
  }

  @Override
  public void close() {
    List<Process> processes = new ArrayList<>();
    for (Node node : nodes) {
      node.open = false;
      Process process = node.process;
      if (process != null) {
        process.destroy();
        processes.add(process);
      }
    }
    try {
      for (Process process : processes) {
        if (!process.waitFor(10, TimeUnit.SECONDS)) {
          process.destroyForcibly();
        }
      }
    } catch (InterruptedException interrupted) {
      processes.forEach(Process::destroyForcibly);
      Thread.currentThread().interrupt();
    }
    http.close();
  }
}
