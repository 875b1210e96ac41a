package io.kvasir.load;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.load.TenantClient.Answer;
import io.kvasir.load.TenantLoad.Tenant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * A heavy tenant beside light ones, with and without the waiting room, and the light ones alone; then three tenants of
 * which each wants more than there is. The load {@code urgent} is another: a tenant whose long prompts are of the class
 * bulk beside light ones whose requests are interactive. Loads take turns, so that what drifts is the same for all, and
 * light requests come at the same times alone and beside others.
 */
@Command(name = "fairness", mixinStandardHelpOptions = true, sortOptions = false)
final class Fairness implements Runnable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration WARM_UP = Duration.ofSeconds(8);

  /** Before each measurement: those that wait have to be as many as they will be. */
  private static final Duration LEAD = Duration.ofSeconds(5);

  private static final double MOST_TIMES = 1.3;
  private static final double TAIL = 0.99;

  /** Of the slowest of these it is told what they waited for. */
  private static final double TRACED = 0.05;

  private static final List<String> LIGHT = List.of("light-1", "light-2", "light-3", "light-4");
  private static final List<String> GREEDY = List.of("greedy-1", "greedy-2", "greedy-3");

  @Mixin private TenantFleetOptions options = new TenantFleetOptions(30, 32);

  @Option(names = "--engines", description = "Simulated engines, ${DEFAULT-VALUE}.")
  private int engineCount = 2;

  @Option(names = "--heavy-clients", description = "Clients of the heavy tenant, ${DEFAULT-VALUE}.")
  private int heavyClients = 128;

  @Option(names = "--heavy-prompt", description = "Characters of its prompts, ${DEFAULT-VALUE}.")
  private int heavyPrompt = 2000;

  @Option(names = "--light-prompt", description = "Characters of the prompts of light tenants, ${DEFAULT-VALUE}.")
  private int lightPrompt = 8000;

  @Option(names = "--light-rate", description = "Requests a second of each light tenant, ${DEFAULT-VALUE}.")
  private double lightRate = 0.5;

  @Option(names = "--answer", description = "Tokens of an answer, ${DEFAULT-VALUE}.")
  private int answer = 48;

  @Option(names = "--set", description = "A line of configuration for the run with the room; may be repeated.")
  private List<String> lines = List.of();

  @Option(
      names = "--bulk-clients", description = "Clients of the tenant whose requests are bulk, ${DEFAULT-VALUE}.")
  private int bulkClients = 16;

  @Option(names = "--bulk-prompt", description = "Characters of its prompts, ${DEFAULT-VALUE}.")
  private int bulkPrompt = 32_000;

  @Option(names = "--loads", split = ",", description = "Some of alone, beside, greedy, urgent; ${DEFAULT-VALUE}.")
  private List<String> chosen = List.of("alone", "beside", "greedy");

  @Option(names = "--turns", description = "How often all loads are measured in turn, ${DEFAULT-VALUE}.")
  private int turns = 3;

  @Option(names = "--skip-without", description = "Leaves out the run without the room.")
  private boolean skipWithout;

  /**
   * What was measured of a tenant, or of the light ones together, under a load in one turn.
   *
   * @param queuedP50 of the time in the router
   * @param work served a second, in tokens of prompts; those of answers count twice
   * @param answers to the requests that began meanwhile, in the order of their ends
   */
  record Measured(
      @JsonProperty("room") boolean room,
      @JsonProperty("turn") int turn,
      @JsonProperty("load") String load,
      @JsonProperty("tenant") String tenant,
      @JsonProperty("requests") int requests,
      @JsonProperty("failed") int failed,
      @JsonProperty("ttft_p50_ms") double p50,
      @JsonProperty("ttft_p99_ms") double p99,
      @JsonProperty("queued_p50_ms") double queuedP50,
      @JsonProperty("queued_p99_ms") double queuedP99,
      @JsonProperty("work_per_second") double work,
      @JsonIgnore List<Answer> answers) {
    @JsonProperty("ttft_ms")
    double[] ttftMs() {
      return Fairness.ttftMs(answers);
    }
  }

  public static void main(String[] args) {
    System.exit(new CommandLine(new Fairness()).execute(args));
  }

  @Override
  public void run() {
    List<Measured> results = new ArrayList<>();
    System.out.printf(
        "%-5s %4s %-8s %-9s %8s %7s %9s %9s %11s %7s %9s%n", "room", "turn", "load", "tenant", "requests", "failed",
        "p50 ms", "p99 ms", "in room p50", "p99", "work/s");
    if (!skipWithout) {
      measure(false, results);
    }
    measure(true, results);
    if (!skipWithout) {
      summarise(false, results);
    }
    summarise(true, results);
    if (!skipWithout) {
      double lost = 1 - work(true, "beside", results) / work(false, "beside", results);
      double lostGreedy = 1 - work(true, "greedy", results) / work(false, "greedy", results);
      System.out.printf("throughput lost with the room: %.1f %%, with greedy tenants %.1f %%%n", 100 * lost,
          100 * lostGreedy);
    }
    ResultFile.write(options.json(), JSON, results);
  }

  private void measure(boolean room, List<Measured> results) {
    String settings =
        TenantLoad.keys(Stream.of(List.of("heavy"), LIGHT, GREEDY).flatMap(List::stream).toList())
            + "  admission.enabled = " + room + "\n" + (room ? "  " + String.join("\n  ", lines) : "");
    // Without the room the engines' own queues are where requests wait.
    int maxInFlight = room ? options.slots() : 4096;
    results.addAll(
        TenantFleet.measure(
            options, new TenantFleet.Shape("fairness", engineCount, 0, 1, maxInFlight, settings),
            fleet -> measure(room, fleet)));
  }

  private List<Measured> measure(boolean room, TenantFleet fleet) throws InterruptedException {
    List<Measured> results = new ArrayList<>();
    try (TenantLoad _ = load(fleet, Objects.requireNonNull(loads().get("beside")), 0)) {
      Thread.sleep(WARM_UP);
    }
    for (int turn = 1; turn <= turns; turn++) {
      for (Map.Entry<String, List<Tenant>> load : loads().entrySet()) {
        if (chosen.contains(load.getKey())) {
          results.addAll(measure(room, turn, load.getKey(), load.getValue(), fleet));
        }
      }
    }
    return results;
  }

  private Map<String, List<Tenant>> loads() {
    List<Tenant> light =
        LIGHT.stream().map(name -> new Tenant(name, 0, lightRate, lightPrompt, answer, "")).toList();
    Tenant heavy = new Tenant("heavy", heavyClients, 0, heavyPrompt, answer, "");
    Map<String, List<Tenant>> loads = new LinkedHashMap<>();
    loads.put("alone", light);
    loads.put("beside", Stream.concat(Stream.of(heavy), light.stream()).toList());
    int most = 4 * options.slots() * engineCount;
    loads.put(
        "greedy",
        IntStream.range(0, GREEDY.size())
            .mapToObj(i -> new Tenant(GREEDY.get(i), most >> i, 0, heavyPrompt << i, answer, ""))
            .toList());
    List<Tenant> urgent =
        LIGHT.stream().map(name -> new Tenant(name, 0, lightRate, lightPrompt, answer, "interactive")).toList();
    Tenant bulk = new Tenant("heavy", bulkClients, 0, bulkPrompt, answer, "bulk");
    loads.put("urgent", Stream.concat(Stream.of(bulk), urgent.stream()).toList());
    return loads;
  }

  private List<Measured> measure(boolean room, int turn, String name, List<Tenant> tenants, TenantFleet fleet)
      throws InterruptedException {
    PreemptionCost before = PreemptionCost.of(fleet);
    TenantLoad load = load(fleet, tenants, turn);
    long from;
    long to;
    try (load) {
      Thread.sleep(LEAD);
      from = System.nanoTime();
      Thread.sleep(Duration.ofSeconds(options.seconds()));
      to = System.nanoTime();
    }
    List<Measured> results = new ArrayList<>();
    List<String> groups = tenants.stream().map(tenant -> group(tenant.name())).distinct().toList();
    for (String group : groups) {
      Measured m = measured(room, turn, name, group, load.answers(), from, to);
      System.out.printf(
          "%-5s %4d %-8s %-9s %8d %7d %9.0f %9.0f %11.0f %7.0f %9.0f%n", room ? "on" : "off", turn, name, m.tenant,
          m.requests, m.failed, m.p50, m.p99, m.queuedP50, m.queuedP99, m.work);
      results.add(m);
    }
    if (tenants.stream().anyMatch(tenant -> tenant.serviceClass().equals("bulk"))) {
      System.out.println(PreemptionCost.of(fleet).since(before, load.answers(), fleet));
    }
    return results;
  }

  private static TenantLoad load(TenantFleet fleet, List<Tenant> tenants, int turn) {
    RouterNodes.Node node = fleet.nodes().all().getFirst();
    return new TenantLoad(fleet.client(), () -> node.gateway("/v1/chat/completions"), tenants, turn);
  }

  /** The light ones are measured together. */
  private static String group(String tenant) {
    return LIGHT.contains(tenant) ? "light" : tenant;
  }

  /** Times are of those that began while it was measured, work of those that ended then. */
  private Measured measured(
      boolean room, int turn, String load, String tenants, Collection<Answer> all, long from, long to) {
    List<Answer> its = all.stream().filter(each -> group(each.tenant()).equals(tenants)).toList();
    List<Answer> begun = its.stream().filter(each -> each.begun() >= from && each.begun() < to).toList();
    double[] ttft = ttftMs(begun);
    double[] queued = begun.stream().mapToDouble(Answer::queuedMs).toArray();
    List<Answer> failed = begun.stream().filter(each -> each.end() != TenantClient.End.COMPLETE).toList();
    failed.stream().limit(1).forEach(each -> System.out.println("  first failure: " + each.what()));
    long work =
        its.stream().filter(each -> each.ended() >= from && each.ended() < to).mapToLong(Answer::work).sum();
    return new Measured(
        room, turn, load, tenants, begun.size(), failed.size(), TailRatio.quantile(ttft, 0.5),
        TailRatio.quantile(ttft, TAIL), TailRatio.quantile(queued, 0.5), TailRatio.quantile(queued, TAIL),
        work / ((to - from) / 1e9), begun);
  }

  private static double[] ttftMs(List<Answer> answers) {
    return answers.stream().mapToDouble(Answer::ttftMs).filter(each -> !Double.isNaN(each)).toArray();
  }

  private static double work(boolean room, String load, List<Measured> all) {
    return all.stream().filter(each -> each.room == room && each.load.equals(load)).mapToDouble(Measured::work).sum();
  }

  /** Of the light tenants over all turns, those with a first token. */
  private static List<Answer> light(boolean room, String load, List<Measured> all) {
    return all.stream()
        .filter(each -> each.room == room && each.load.equals(load) && each.tenant.equals("light"))
        .flatMap(each -> each.answers.stream())
        .filter(each -> !Double.isNaN(each.ttftMs()))
        .toList();
  }

  private static void summarise(boolean room, List<Measured> all) {
    String name = "room " + (room ? "on" : "off");
    List<Answer> alone = light(room, "alone", all);
    List<Answer> beside = light(room, "beside", all);
    if (!alone.isEmpty() && !beside.isEmpty()) {
      TailRatio times = TailRatio.of(TAIL, ttftMs(alone), ttftMs(beside));
      System.out.printf(
          "%s: p99 of light tenants %.0f ms of %d alone, %.0f ms of %d beside the heavy one: %.2f times (%.2f to %.2f);"
              + " that it is at most %.1f times is %s%n",
          name, TailRatio.quantile(ttftMs(alone), TAIL), alone.size(), TailRatio.quantile(ttftMs(beside), TAIL),
          beside.size(), times.ratio(), times.low(), times.high(), MOST_TIMES, times.verdict(MOST_TIMES));
      System.out.println("  alone, " + TailTrace.of(alone, TRACED).text());
      System.out.println("  beside, " + TailTrace.of(beside, TRACED).text());
    }
    Map<String, Double> greedy =
        all.stream()
            .filter(each -> each.room == room && each.load.equals("greedy"))
            .collect(Collectors.groupingBy(Measured::tenant, Collectors.summingDouble(Measured::work)));
    if (!greedy.isEmpty()) {
      double[] served = greedy.values().stream().mapToDouble(Double::doubleValue).toArray();
      System.out.printf("%s: Jain's index of greedy tenants %.3f%n", name, jain(served));
    }
  }

  /** Jain's index of fairness: 1 when all have the same, 1/n when one has it all. */
  static double jain(double... shares) {
    double sum = 0;
    double squares = 0;
    for (double share : shares) {
      sum += share;
      squares += share * share;
    }
    return sum * sum / (shares.length * squares);
  }
}
