package io.kvasir.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.load.TenantClient.Answer;
import io.kvasir.load.TenantClient.End;
import io.kvasir.load.TenantLoad.Tenant;
import io.kvasir.sim.EventSettings;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.SimSettings;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Some times as many requests as the engines can serve come to three nodes, each a process of its own, and the home of
 * their cell is killed in the middle: what becomes of those that were admitted, how many wait, and what is left behind.
 */
@Command(name = "overload", mixinStandardHelpOptions = true, sortOptions = false)
final class Overload implements Runnable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int NODES = 3;
  private static final String PATH = "/v1/chat/completions";
  private static final Duration WARM_UP = Duration.ofSeconds(15);
  private static final double LEAST_GOOD = 0.9;
  private static final double RECOVERY_SECONDS = 5;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @Option(names = "--seconds", description = "How long there is too much, ${DEFAULT-VALUE}.")
  private int seconds = 60;

  @Option(names = "--factor", description = "How much too much, ${DEFAULT-VALUE}.")
  private double factor = 3;

  @Option(names = "--engine", description = "Coefficients of the engines, ${DEFAULT-VALUE}.")
  private String engine = "a100-Qwen2.5-14B-tp1";

  @Option(names = "--slots", description = "Requests that an engine runs at a time, ${DEFAULT-VALUE}.")
  private int slots = 32;

  @Option(names = "--max-waiting", description = "Requests that may wait, ${DEFAULT-VALUE}.")
  private int maxWaiting = 100;

  @Option(names = "--longest-wait", description = "Seconds that a request may wait, ${DEFAULT-VALUE}.")
  private int longestWait = 10;

  @Option(names = "--good", description = "Seconds to the first token of a good answer, ${DEFAULT-VALUE}.")
  private double goodSeconds = 12;

  @Option(names = "--launcher", description = "What starts a node, ${DEFAULT-VALUE}.")
  private Path launcher = Path.of("./kvasir");

  @Option(names = "--json", description = "Writes the results there, too.")
  private @Nullable Path json;

  /**
   * What has been seen.
   *
   * @param capacity requests a second that the engines serve
   * @param good the share of those that were admitted whose first token came in time and whose answer is whole
   * @param onKilledNode requests whose connection the killed node had
   * @param lost requests without an answer and without a refusal, on living nodes
   * @param recoverySeconds after the overload until nobody waits and a request is served as before it; NaN for never
   * @param left what is still booked, waiting, open or running after all requests have ended
   */
  record Result(
      @JsonProperty("capacity_per_second") double capacity,
      @JsonProperty("offered_per_second") double offered,
      @JsonProperty("served_per_second") double served,
      @JsonProperty("refused") long refused,
      @JsonProperty("good") double good,
      @JsonProperty("on_killed_node") long onKilledNode,
      @JsonProperty("lost") long lost,
      @JsonProperty("most_waiting") int mostWaiting,
      @JsonProperty("recovery_seconds") double recoverySeconds,
      @JsonProperty("left") int left) {
    boolean isGood(int maxWaiting) {
      return good >= LEAST_GOOD && lost == 0 && mostWaiting <= maxWaiting && recoverySeconds <= RECOVERY_SECONDS
          && left == 0;
    }
  }

  public static void main(String[] args) {
    System.exit(new CommandLine(new Overload()).execute(args));
  }

  @Override
  public void run() {
    List<SimEngine> engines = new ArrayList<>();
    try {
      engines.add(engine());
      engines.add(engine());
      try (RouterNodes nodes =
              new RouterNodes(
                  launcher.toAbsolutePath(), Path.of("target", "overload"), NODES, NODES, engines, slots, settings(),
                  new LoopbackNetwork(NODES));
          TenantClient client = new TenantClient()) {
        for (RouterNodes.Node node : nodes.all()) {
          nodes.awaitReady(node, engines.size());
        }
        Result result = measure(nodes, client, engines);
        System.out.printf(
            "capacity %.1f, offered %.1f, served %.1f requests a second%n"
                + "refused %d, good of those admitted %.1f %%, lost %d, on the killed node %d%n"
                + "most waiting %d, recovered after %.1f s, left behind %d%n",
            result.capacity, result.offered, result.served, result.refused, 100 * result.good, result.lost,
            result.onKilledNode, result.mostWaiting, result.recoverySeconds, result.left);
        ResultFile.write(json, JSON, List.of(result));
        if (!result.isGood(maxWaiting)) {
          throw new IllegalStateException("the overload was not withstood");
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      engines.forEach(SimEngine::close);
    }
  }

  private Result measure(RouterNodes nodes, TenantClient client, List<SimEngine> engines)
      throws InterruptedException {
    double capacity = capacity(nodes, client, engines.size());
    double usual = ttftMs(nodes, client);
    TenantLoad load =
        new TenantLoad(client, spread(nodes), List.of(new Tenant("", 0, factor * capacity, 2000, 48, "")));
    long from = System.nanoTime();
    int most = 0;
    URI killed = null;
    for (int second = 0; second < seconds; second++) {
      Thread.sleep(1000);
      most = Math.max(most, waiting(nodes));
      RouterNodes.Node home = second == seconds / 2 ? nodes.home() : null;
      if (home != null) {
        killed = home.gateway(PATH);
        nodes.kill(home);
      }
    }
    load.stop();
    long to = System.nanoTime();
    double recovery = recoverySeconds(nodes, client, usual, to);
    load.close();
    await(() -> left(nodes, engines) == 0);
    URI died = killed;
    List<Answer> all = load.answers();
    List<Answer> lost = all.stream().filter(each -> each.end() == End.LOST).toList();
    long onKilled = lost.stream().filter(each -> each.url().equals(died)).count();
    lost.stream().filter(each -> !each.url().equals(died)).limit(3)
        .forEach(each -> System.out.println("  lost: " + each.what()));
    long refused = all.stream().filter(each -> each.end() == End.REFUSED).count();
    long complete = all.stream().filter(each -> each.end() == End.COMPLETE).count();
    long good =
        all.stream().filter(each -> each.end() == End.COMPLETE && each.ttftMs() <= goodSeconds * 1e3).count();
    double lasted = (to - from) / 1e9;
    return new Result(
        capacity, all.size() / lasted, complete / lasted, refused, (double) good / (all.size() - refused - onKilled),
        onKilled, lost.size() - onKilled, most, recovery, left(nodes, engines));
  }

  /** What the engines serve when there is always another request. */
  private double capacity(RouterNodes nodes, TenantClient client, int engines) throws InterruptedException {
    long from;
    long to;
    TenantLoad load =
        new TenantLoad(client, spread(nodes), List.of(new Tenant("", 2 * engines * slots, 0, 2000, 48, "")));
    try (load) {
      Thread.sleep(WARM_UP);
      from = System.nanoTime();
      Thread.sleep(WARM_UP);
      to = System.nanoTime();
    }
    long served =
        load.answers().stream()
            .filter(each -> each.end() == End.COMPLETE && each.ended() >= from && each.ended() < to).count();
    return served / ((to - from) / 1e9);
  }

  /** The open nodes in turn. */
  private static Supplier<URI> spread(RouterNodes nodes) {
    AtomicInteger turn = new AtomicInteger();
    return () -> {
      List<RouterNodes.Node> open = nodes.all().stream().filter(RouterNodes.Node::isOpen).toList();
      return open.get(Math.floorMod(turn.getAndIncrement(), open.size())).gateway(PATH);
    };
  }

  /** Of a request that comes alone, the median of some. */
  private static double ttftMs(RouterNodes nodes, TenantClient client) throws InterruptedException {
    TenantLoad load = new TenantLoad(client, spread(nodes), List.of(new Tenant("", 1, 0, 2000, 8, "")));
    try (load) {
      Thread.sleep(3000);
    }
    double[] sorted =
        load.answers().stream().mapToDouble(Answer::ttftMs).filter(each -> !Double.isNaN(each)).sorted().toArray();
    return Fairness.quantile(sorted, 0.5);
  }

  /** Nobody waits, and a new request is served within three times the usual time, or half a second. */
  private static double recoverySeconds(RouterNodes nodes, TenantClient client, double usualMs, long from)
      throws InterruptedException {
    Supplier<URI> url = spread(nodes);
    long end = from + PATIENCE.toNanos();
    while (System.nanoTime() < end) {
      Answer probe = client.ask(url.get(), "", probe());
      double since = (System.nanoTime() - from) / 1e9;
      if (probe.end() == End.COMPLETE && probe.ttftMs() <= Math.max(500, 3 * usualMs) && waiting(nodes) == 0) {
        return since;
      }
    }
    return Double.NaN;
  }

  private static ObjectNode probe() {
    ObjectNode body = TenantClient.body(8);
    body.putArray("messages").addObject().put("role", "user").put("content", "Is anybody there?");
    return body;
  }

  private static int waiting(RouterNodes nodes) {
    return sum(nodes, "kvasir_admission_waiting");
  }

  /** Of a gauge, over its labels and the open nodes. */
  private static int sum(RouterNodes nodes, String gauge) {
    return nodes.all().stream()
        .filter(RouterNodes.Node::isOpen)
        .flatMap(node -> nodes.metrics(node).lines())
        .filter(line -> line.startsWith(gauge + "{"))
        .mapToInt(line -> (int) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  private static int left(RouterNodes nodes, List<SimEngine> engines) {
    int running = engines.stream().mapToInt(each -> each.stats().running() + each.stats().waiting()).sum();
    return Math.abs(nodes.inFlight()) + waiting(nodes) + sum(nodes, "kvasir_requests_in_flight") + running;
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean() && System.nanoTime() < end) {
      Thread.sleep(100);
    }
  }

  private String settings() {
    return """
        pod-defaults.engine = %s
          admission { enabled = true
            classes.default { max-waiting = %d, max-waiting-per-tenant = %d, longest-wait = %d s, starvation = %d s } }
        """
        .formatted(engine, maxWaiting, maxWaiting, longestWait, longestWait);
  }

  private SimEngine engine() throws IOException {
    return SimEngine.start(
        SimSettings.builder()
            .port(0)
            .model(TenantClient.MODEL)
            .engine(engine)
            .maxSequences(slots)
            .events(EventSettings.DEFAULT.withLoopback())
            .build());
  }
}
