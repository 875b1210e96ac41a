package io.kvasir.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.load.TenantClient.Answer;
import io.kvasir.load.TenantClient.End;
import io.kvasir.load.TenantLoad.Tenant;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Some times as many requests as the engines can serve come to three nodes, each a process of its own, and the home of
 * their cell is killed in the middle: what becomes of those that were admitted, how many wait, and what is left behind.
 */
@Command(name = "overload", mixinStandardHelpOptions = true, sortOptions = false)
final class Overload implements Runnable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int NODES = 3;
  private static final int ENGINES = 2;
  private static final String PATH = "/v1/chat/completions";
  private static final Duration MEASURED = Duration.ofSeconds(15);
  private static final Duration COLD = Duration.ofSeconds(30);

  /** The learnt cost of a token has settled when it has changed by less than that for so long. */
  private static final double SETTLED = 0.05;

  private static final Duration SETTLED_FOR = Duration.ofSeconds(10);
  private static final Duration LONGEST_SETTLING = Duration.ofMinutes(2);
  private static final double LEAST_GOOD = 0.9;
  private static final double RECOVERY_SECONDS = 5;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @Mixin private TenantFleetOptions options = new TenantFleetOptions(60, 32);

  @Option(names = "--factor", description = "How much too much, ${DEFAULT-VALUE}.")
  private double factor = 3;

  @Option(names = "--max-waiting", description = "Requests that may wait, ${DEFAULT-VALUE}.")
  private int maxWaiting = 100;

  @Option(names = "--longest-wait", description = "Seconds that a request may wait, ${DEFAULT-VALUE}.")
  private int longestWait = 10;

  @Option(names = "--good", description = "Seconds to the first token of a good answer, ${DEFAULT-VALUE}.")
  private double goodSeconds = 12;

  /**
   * What has been seen.
   *
   * @param cold requests a second that they served in the first half minute of the routers
   * @param capacity requests a second that the engines serve
   * @param good the share of those that were admitted whose first token came in time and whose answer is whole
   * @param onKilledNode requests whose connection the killed node had
   * @param lost requests without an answer and without a refusal, on living nodes
   * @param recoverySeconds after the overload until nobody waits and a request is served as before it; NaN for never
   * @param left what is still booked, waiting, open or running after all requests have ended
   */
  record Result(
      @JsonProperty("cold_per_second") double cold,
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
    Result result =
        TenantFleet.measure(
            options, new TenantFleet.Shape("overload", ENGINES, 0, NODES, options.slots(), settings()), this::measure);
    System.out.printf(
        "cold %.1f, capacity %.1f, offered %.1f, served %.1f requests a second%n"
            + "refused %d, good of those admitted %.1f %%, lost %d, on the killed node %d%n"
            + "most waiting %d, recovered after %.1f s, left behind %d%n",
        result.cold, result.capacity, result.offered, result.served, result.refused, 100 * result.good, result.lost,
        result.onKilledNode, result.mostWaiting, result.recoverySeconds, result.left);
    ResultFile.write(options.json(), JSON, List.of(result));
    if (!result.isGood(maxWaiting)) {
      throw new IllegalStateException("the overload was not withstood");
    }
  }

  private Result measure(TenantFleet fleet) throws InterruptedException {
    RouterNodes nodes = fleet.nodes();
    Capacity capacity = capacity(fleet);
    double usual = ttftMs(fleet);
    TenantLoad load =
        new TenantLoad(
            fleet.client(), spread(nodes), List.of(new Tenant("", 0, factor * capacity.settled, 2000, 48, "")));
    long from = System.nanoTime();
    int most = 0;
    URI killed = null;
    for (int second = 0; second < options.seconds(); second++) {
      Thread.sleep(1000);
      most = Math.max(most, waiting(nodes));
      RouterNodes.Node home = second == options.seconds() / 2 ? nodes.home() : null;
      if (home != null) {
        killed = home.gateway(PATH);
        nodes.kill(home);
      }
    }
    load.stop();
    long to = System.nanoTime();
    double recovery = recoverySeconds(fleet, usual, to);
    load.close();
    await(() -> left(fleet) == 0);
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
        capacity.cold, capacity.settled, all.size() / lasted, complete / lasted, refused,
        (double) good / (all.size() - refused - onKilled), onKilled, lost.size() - onKilled, most, recovery,
        left(fleet));
  }

  /**
   * What the engines serve when there is always another request.
   *
   * @param cold requests a second in the first half minute
   * @param settled the same, once the nodes know what a prompt costs: while they are cold first tokens are late, and
   *     who believes these prompts to be dear sends few of them at a time
   */
  private record Capacity(double cold, double settled) {}

  private Capacity capacity(TenantFleet fleet) throws InterruptedException {
    long begun = System.nanoTime();
    long from;
    long to;
    TenantLoad load =
        new TenantLoad(
            fleet.client(), spread(fleet.nodes()),
            List.of(new Tenant("", 2 * ENGINES * options.slots(), 0, 2000, 48, "")));
    try (load) {
      settle(fleet.nodes());
      from = System.nanoTime();
      Thread.sleep(MEASURED);
      to = System.nanoTime();
    }
    List<Answer> all = load.answers();
    return new Capacity(
        perSecond(all, begun, Math.min(to, begun + COLD.toNanos())), perSecond(all, from, to));
  }

  private static double perSecond(List<Answer> all, long from, long to) {
    long served =
        all.stream().filter(each -> each.end() == End.COMPLETE && each.ended() >= from && each.ended() < to).count();
    return served / ((to - from) / 1e9);
  }

  /** Waits until what the nodes have learnt of a prompt's cost changes no more. */
  private static void settle(RouterNodes nodes) throws InterruptedException {
    long begun = System.nanoTime();
    long since = begun;
    double settledMs = tokenMs(nodes);
    while (System.nanoTime() - since < SETTLED_FOR.toNanos() || settledMs == 0) {
      if (System.nanoTime() - begun > LONGEST_SETTLING.toNanos()) {
        System.out.printf("a token of a prompt costs %.3f ms as learnt, and that still changes%n", tokenMs(nodes));
        return;
      }
      Thread.sleep(500);
      double nowMs = tokenMs(nodes);
      if (Math.abs(nowMs - settledMs) > SETTLED * settledMs) {
        settledMs = nowMs;
        since = System.nanoTime();
      }
    }
    System.out.printf(
        "a token of a prompt costs %.3f ms as learnt, settled after %.0f s%n", settledMs,
        (System.nanoTime() - begun) / 1e9);
  }

  /** What a token of a prompt costs in milliseconds, as the node has learnt that takes it for dearest; 0 for none. */
  private static double tokenMs(RouterNodes nodes) {
    return nodes.all().stream()
        .flatMap(node -> nodes.metrics(node).lines())
        .filter(line -> line.startsWith("kvasir_cost_token_seconds{"))
        .mapToDouble(line -> 1e3 * Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .max().orElse(0);
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
  private static double ttftMs(TenantFleet fleet) throws InterruptedException {
    TenantLoad load =
        new TenantLoad(fleet.client(), spread(fleet.nodes()), List.of(new Tenant("", 1, 0, 2000, 8, "")));
    try (load) {
      Thread.sleep(3000);
    }
    double[] sorted =
        load.answers().stream().mapToDouble(Answer::ttftMs).filter(each -> !Double.isNaN(each)).sorted().toArray();
    return TailRatio.quantile(sorted, 0.5);
  }

  /** Nobody waits, and a new request is served within three times the usual time, or half a second. */
  private static double recoverySeconds(TenantFleet fleet, double usualMs, long from) throws InterruptedException {
    Supplier<URI> url = spread(fleet.nodes());
    long end = from + PATIENCE.toNanos();
    while (System.nanoTime() < end) {
      Answer probe = fleet.client().ask(url.get(), "", probe());
      double since = (System.nanoTime() - from) / 1e9;
      if (probe.end() == End.COMPLETE && probe.ttftMs() <= Math.max(500, 3 * usualMs)
          && waiting(fleet.nodes()) == 0) {
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

  private static int left(TenantFleet fleet) {
    RouterNodes nodes = fleet.nodes();
    int running = fleet.engines().stream().mapToInt(each -> each.stats().running() + each.stats().waiting()).sum();
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
        admission { enabled = true
            classes.default { max-waiting = %d, max-waiting-per-tenant = %d, longest-wait = %d s, starvation = %d s } }
        """
        .formatted(maxWaiting, maxWaiting, longestWait, longestWait);
  }
}
