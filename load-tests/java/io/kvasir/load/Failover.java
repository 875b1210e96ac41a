package io.kvasir.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.load.NodeLoad.End;
import io.kvasir.load.NodeLoad.Request;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.core.EngineStats;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code load-tests/failover}: three router nodes before four simulated engines, under conversations, while a node
 * goes or comes. Reports what clients lost, how long decisions were made without the cell's home, and what the token
 * hit rate was before and after.
 */
@Command(name = "load-tests/failover", mixinStandardHelpOptions = true, sortOptions = false)
final class Failover implements Callable<Integer> {
  private static final ObjectMapper JSON =
      JsonMapper.builder().propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE).build();
  private static final int NODES = 3;
  private static final int ENGINES = 4;
  private static final double NANOS = 1e9;

  /** What nodes are cut off by. */
  enum PartitionMode {
    /** Namespaces where the machine allows them, else relays. */
    AUTO,
    /** Each node has a network of its own, as another machine would. */
    NAMESPACES,
    /** Nodes talk through relays in this process. */
    RELAYS;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** What happens in the middle. */
  enum Scenario {
    /** kill -9 of the cell's home. */
    KILL_HOME,
    /** kill -9 of a node where it is not. */
    KILL_OTHER,
    /** SIGTERM to the cell's home. */
    SIGTERM,
    /** Every node in turn is stopped by SIGTERM and started again. */
    ROLLING,
    /** A fourth node starts. */
    JOIN,
    /** The cell's home is cut off from the others for a while. */
    PARTITION;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  @Option(names = "--scenario", split = ",", description = "Any of ${COMPLETION-CANDIDATES}; all of them by default.")
  private List<Scenario> scenarios = List.of(Scenario.values());

  @Option(names = "--standbys", defaultValue = "1", description = "On how many other nodes the cell is copied.")
  private int standbys;

  @Option(names = "--sessions", defaultValue = "24", description = "Conversations at a time.")
  private int sessions;

  @Option(names = "--before", defaultValue = "20", description = "Seconds of load before the event.")
  private int before;

  @Option(names = "--after", defaultValue = "25", description = "Seconds of load after it.")
  private int after;

  @Option(names = "--speed", defaultValue = "2", description = "How many times faster than real the engines are.")
  private double speed;

  @Option(names = "--cut", defaultValue = "20", description = "Seconds that a partition lasts.")
  private int cut;

  @Option(
      names = "--network",
      defaultValue = "auto",
      description = "What lies between nodes that are to be cut off: ${COMPLETION-CANDIDATES}; auto takes namespaces"
          + " where the machine allows them.")
  private PartitionMode cutting = PartitionMode.AUTO;

  @Option(names = "--json", paramLabel = "OUT", description = "Write the results there, too.")
  private @Nullable Path json;

  /**
   * What a scenario came to, where nodes are not cut off. {@code network} is what lay between the nodes. Of the
   * fallback decisions, those before the event come from nodes that have just started. Times are from the event; {@code
   * decisionGapMs} is until a request begun after it was decided by the cell's home again, -1 if none was. {@code
   * exact} is the share of requests whose cached tokens the router predicted exactly, {@code twoHomes} how often nodes
   * that were not cut off knew different homes of the cell, {@code remoteMs} the median time of a decision for another
   * node than the home.
   */
  private record Result(
      String scenario,
      String network,
      int requests,
      int lost,
      int errorsOnDeadNode,
      int fallbackDecisions,
      int fallbackDecisionsBefore,
      long decisionGapMs,
      double hitRateBefore,
      @JsonProperty("hit_rate_1s_after") double hitRateSoonAfter,
      @JsonProperty("hit_rate_10s_after") double hitRateLaterAfter,
      @JsonProperty("exact_10s_after") double exactLaterAfter,
      int twoHomes,
      int reservationsLeaked,
      int overbooked,
      @JsonProperty("p99_ms_before") double p99Before,
      @JsonProperty("p99_ms_after") double p99After,
      @JsonProperty("remote_decision_p50_ms") double remoteMs) {}

  public static void main(String[] args) {
    CommandLine line = new CommandLine(new Failover()).setCaseInsensitiveEnumValuesAllowed(true);
    line.registerConverter(
        Scenario.class,
        text ->
            Arrays.stream(Scenario.values())
                .filter(scenario -> scenario.toString().equalsIgnoreCase(text))
                .findAny()
                .orElseThrow(
                    () ->
                        new CommandLine.TypeConversionException(
                            "no scenario is named '%s'; there are %s"
                                .formatted(text, Arrays.toString(Scenario.values())))));
    System.exit(line.execute(args));
  }

  @Override
  public Integer call() throws InterruptedException {
    List<Result> results = new ArrayList<>();
    List<Scenario> failed = new ArrayList<>();
    for (Scenario scenario : scenarios) {
      try {
        results.add(measure(scenario));
      } catch (IOException | IllegalStateException e) {
        say(scenario, "failed: " + e);
        failed.add(scenario);
      }
    }
    print(results);
    ResultFile.write(json, JSON, results);
    return failed.isEmpty() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
  }

  private static void print(List<Result> results) {
    System.out.printf(
        "%n%-10s %-10s %8s %5s %8s %8s %6s %7s %8s %7s %7s %7s %9s %7s %10s %9s %9s %9s%n",
        "scenario", "network", "requests", "lost", "on dead", "fallback", "(then)", "gap ms", "hit then", "+1 s",
        "+10 s", "exact", "two homes", "leaked", "overbooked", "p99 then", "p99 after", "remote ms");
    for (Result r : results) {
      System.out.printf(
          "%-10s %-10s %8d %5d %8d %8d %6d %7d %7.1f%% %6.1f%% %6.1f%% %6.1f%% %9d %7d %10d %9.0f %9.0f %9.2f%n",
          r.scenario, r.network, r.requests, r.lost, r.errorsOnDeadNode, r.fallbackDecisions,
          r.fallbackDecisionsBefore, r.decisionGapMs,
          100 * r.hitRateBefore, 100 * r.hitRateSoonAfter, 100 * r.hitRateLaterAfter, 100 * r.exactLaterAfter,
          r.twoHomes, r.reservationsLeaked, r.overbooked, r.p99Before, r.p99After, r.remoteMs);
    }
  }

  private Result measure(Scenario scenario) throws IOException, InterruptedException {
    // Twice what the sessions need, so that it is reached only by booking past it.
    int maxInFlight = Math.max(2, 2 * sessions / ENGINES);
    List<SimEngine> engines = new ArrayList<>();
    try (NodeNetwork network = network(scenario)) {
      say(scenario, "over " + network.kind());
      for (int i = 0; i < ENGINES; i++) {
        engines.add(
            SimEngine.start(
                SimSettings.builder()
                    .host(network.outside())
                    .port(0)
                    .model("kvasir-demo")
                    .capacityBlocks(16384)
                    .speed(speed)
                    .seed(i)
                    .events(EventSettings.DEFAULT.withAddress(network.outside()))
                    .build()));
      }
      Path work = Path.of("target", "failover", scenario.toString());
      try (RouterNodes nodes =
          new RouterNodes(
              Path.of("./kvasir").toAbsolutePath(), work, NODES + 1, NODES, engines, maxInFlight,
              "cell.standbys = " + standbys, network)) {
        say(scenario, "starting");
        for (RouterNodes.Node node : nodes.all().subList(0, NODES)) {
          nodes.awaitReady(node, ENGINES);
        }
        return measure(scenario, network.kind(), nodes, engines, maxInFlight);
      }
    } finally {
      engines.forEach(SimEngine::close);
    }
  }

  private NodeNetwork network(Scenario scenario) throws IOException {
    int nodes = NODES + 1;
    if (scenario != Scenario.PARTITION) {
      return new LoopbackNetwork(nodes);
    }
    return switch (cutting) {
      case NAMESPACES -> new NamespaceNetwork(nodes);
      case RELAYS -> new RelayNetwork(nodes);
      case AUTO -> {
        try {
          yield new NamespaceNetwork(nodes);
        } catch (IOException notHere) {
          say(scenario, "no namespaces here: " + notHere.getMessage());
          yield new RelayNetwork(nodes);
        }
      }
    };
  }

  private Result measure(
      Scenario scenario, String network, RouterNodes nodes, List<SimEngine> engines, int maxInFlight)
      throws IOException, InterruptedException {
    AtomicInteger overbooked = new AtomicInteger();
    Thread watch = Thread.startVirtualThread(() -> watch(engines, maxInFlight, overbooked));
    AtomicInteger twoHomes = new AtomicInteger();
    Thread homes = Thread.startVirtualThread(() -> watchHomes(nodes, twoHomes));
    NodeLoad load = new NodeLoad(nodes, sessions);
    long event;
    try (load) {
      say(scenario, "before");
      Thread.sleep(before * 1000L);
      say(scenario, "the event");
      event = happen(scenario, nodes);
      say(scenario, "after");
      Thread.sleep(after * 1000L);
    }
    watch.interrupt();
    homes.interrupt();
    int leaked = nodes.inFlight();
    for (int i = 0; i < 100 && leaked != 0; i++) {
      Thread.sleep(100);
      leaked = nodes.inFlight();
    }
    return result(
        scenario, network, load.requests(), event, leaked, overbooked.get(), twoHomes.get(),
        nodes.remoteDecisions().millis(0.5));
  }

  /** Has it happen; returns when, in {@link System#nanoTime}. */
  private long happen(Scenario scenario, RouterNodes nodes) throws IOException, InterruptedException {
    RouterNodes.Node home = nodes.home();
    if (home == null) {
      throw new IllegalStateException("no node knows where the cell is at home");
    }
    return switch (scenario) {
      case KILL_HOME -> nodes.kill(home);
      case KILL_OTHER ->
          nodes.kill(
              nodes.all().stream().filter(node -> node != home && node.isOpen()).findFirst().orElseThrow());
      case SIGTERM -> nodes.stop(home);
      case ROLLING -> {
        long begun = System.nanoTime();
        for (RouterNodes.Node node : nodes.all().subList(0, NODES)) {
          nodes.stop(node);
          nodes.launch(node);
          nodes.awaitReady(node, ENGINES);
        }
        yield begun;
      }
      case JOIN -> {
        long begun = System.nanoTime();
        RouterNodes.Node fourth = nodes.all().getLast();
        nodes.launch(fourth);
        nodes.awaitReady(fourth, ENGINES);
        yield begun;
      }
      case PARTITION -> {
        long begun = nodes.partition(home);
        Thread.sleep(cut * 1000L);
        say(scenario, "healed");
        nodes.heal(NODES, ENGINES);
        yield begun;
      }
    };
  }

  private static void watch(List<SimEngine> engines, int maxInFlight, AtomicInteger overbooked) {
    try {
      while (true) {
        for (SimEngine engine : engines) {
          EngineStats stats = engine.stats();
          if (stats.running() + stats.waiting() > maxInFlight) {
            overbooked.incrementAndGet();
          }
        }
        Thread.sleep(20);
      }
    } catch (InterruptedException over) {
      Thread.currentThread().interrupt();
    }
  }

  private static void watchHomes(RouterNodes nodes, AtomicInteger twoHomes) {
    try {
      while (true) {
        if (differ(nodes) && stillDiffer(nodes)) {
          twoHomes.incrementAndGet();
        }
        Thread.sleep(100);
      }
    } catch (InterruptedException over) {
      Thread.currentThread().interrupt();
    }
  }

  /** Two that differ may have been queried before and after a move; not twice. */
  private static boolean stillDiffer(RouterNodes nodes) {
    return differ(nodes);
  }

  private static boolean differ(RouterNodes nodes) {
    return nodes.all().stream()
            .filter(node -> node.isOpen() && !node.isPartitioned())
            .map(nodes::home)
            .filter(Objects::nonNull)
            .distinct()
            .count()
        > 1;
  }

  private static Result result(
      Scenario scenario, String network, List<Request> all, long event, int leaked, int overbooked, int twoHomes,
      double remoteMs) {
    all.stream()
        .filter(request -> request.end() == End.LOST)
        .limit(5)
        .forEach(request -> System.err.println("lost: " + request.what()));
    List<Request> requests = all.stream().filter(request -> !request.partitioned()).toList();
    long moved =
        requests.stream()
            .filter(request -> request.begun() > event && request.end() == End.COMPLETE && !request.fallback())
            .mapToLong(Request::begun)
            .min()
            .orElse(-1);
    long lastFallback =
        requests.stream().filter(Request::fallback).mapToLong(Request::begun).max().orElse(event);
    // Decided at the home while others still fell back is not yet moved.
    long since = moved < 0 ? event : Math.max(moved, Math.max(event, lastFallback));
    List<Request> later =
        requests.stream()
            .filter(request -> request.end() == End.COMPLETE && within(request, since + 10 * NANOS, since + 15 * NANOS))
            .toList();
    return new Result(
        scenario.toString(),
        network,
        all.size(),
        count(all, End.LOST),
        count(all, End.ON_DEAD_NODE),
        (int) requests.stream().filter(Request::fallback).count(),
        (int) requests.stream().filter(request -> request.fallback() && request.begun() < event).count(),
        moved < 0 ? -1 : (since - event) / 1_000_000,
        hitRate(requests, begun -> begun < event && begun > event - 8 * NANOS),
        hitRate(requests, begun -> begun > since + NANOS && begun < since + 3 * NANOS),
        hitRate(requests, begun -> begun > since + 10 * NANOS && begun < since + 15 * NANOS),
        later.isEmpty() ? 0 : (double) later.stream().filter(Request::exact).count() / later.size(),
        twoHomes,
        leaked,
        overbooked,
        p99(requests, begun -> begun < event && begun > event - 8 * NANOS),
        p99(requests, begun -> begun > event),
        remoteMs);
  }

  private static boolean within(Request request, double from, double to) {
    return request.begun() > from && request.begun() < to;
  }

  private static int count(List<Request> requests, End end) {
    return (int) requests.stream().filter(request -> request.end() == end).count();
  }

  private static double hitRate(List<Request> requests, Predicate<Long> begun) {
    long prompt = 0;
    long cached = 0;
    for (Request request : requests) {
      if (begun.test(request.begun())) {
        prompt += request.promptTokens();
        cached += request.cachedTokens();
      }
    }
    return prompt == 0 ? 0 : (double) cached / prompt;
  }

  private static double p99(List<Request> requests, Predicate<Long> begun) {
    double[] millis =
        requests.stream()
            .filter(request -> request.end() == End.COMPLETE && begun.test(request.begun()))
            .mapToDouble(Request::millis)
            .sorted()
            .toArray();
    return millis.length == 0 ? 0 : millis[(int) (0.99 * (millis.length - 1))];
  }

  private static void say(Scenario scenario, String phase) {
    System.err.printf("%-12s %s%n", scenario, phase);
  }
}
