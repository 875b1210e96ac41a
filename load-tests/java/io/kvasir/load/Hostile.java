package io.kvasir.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.terminal.Table;
import io.kvasir.load.HostileAttacks.Attack;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.DoubleAccumulator;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Hostile clients beside ordinary ones: each attack in turn against a router with a small heap, and what it cost. Fails
 * when an attack succeeds or an ordinary request fails.
 */
@Command(name = "hostile", mixinStandardHelpOptions = true, sortOptions = false)
final class Hostile implements Callable<Integer> {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int SETTLE_SECONDS = 2;
  private static final int LEAST_SECONDS = 4;

  @Option(names = "--attacks", split = ",", description = "Only these.")
  private String[] attacks = {};

  @Option(names = "--heap", description = "The router's heap, ${DEFAULT-VALUE}.")
  private String heap = "1g";

  @Option(names = "--seconds", description = "The longest that an attack lasts, ${DEFAULT-VALUE}.")
  private int seconds = 8;

  @Option(names = "--rate", description = "Ordinary requests a second, ${DEFAULT-VALUE}.")
  private int rate = 40;

  @Option(names = "--allow-templates", description = "The model lets requests bring templates of their own.")
  private boolean allowTemplates;

  @Option(names = "--json", description = "Writes the result there, too.")
  private @Nullable Path json;

  /** What an attack cost, and whether it failed. */
  private record Result(
      String name,
      String sent,
      String answers,
      @JsonProperty("cpu_seconds") double cpuSeconds,
      @JsonProperty("wall_seconds") double wallSeconds,
      @JsonProperty("resident_mb_before") double residentBefore,
      @JsonProperty("resident_mb_peak") double residentPeak,
      @JsonProperty("ordinary_before") HostileTraffic.Figures before,
      @JsonProperty("ordinary_during") HostileTraffic.Figures during,
      String fault) {}

  public static void main(String[] args) {
    System.exit(new CommandLine(new Hostile()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    List<Attack> chosen = HostileAttacks.named(attacks);
    List<Result> results = new ArrayList<>();
    try (HostileFleet fleet = new HostileFleet(Path.of("target", "hostile"), heap, settings());
        HostileTraffic ordinary = new HostileTraffic(fleet.gateway(), rate)) {
      TimeUnit.SECONDS.sleep(20);
      for (Attack attack : chosen) {
        Result result = run(attack, fleet, ordinary);
        System.err.printf(Locale.ROOT, "%d of %d: %s%s%n", results.size() + 1, chosen.size(), attack.name(),
            result.fault().isEmpty() ? "" : ": " + result.fault());
        results.add(result);
      }
    }
    System.out.print(table(results));
    ResultFile.write(json, JSON, results);
    return results.stream().allMatch(result -> result.fault().isEmpty()) ? 0 : 1;
  }

  private String settings() {
    return allowTemplates ? "model-defaults.request-templates = true" : "";
  }

  private Result run(Attack attack, HostileFleet fleet, HostileTraffic ordinary) throws InterruptedException {
    TimeUnit.SECONDS.sleep(SETTLE_SECONDS);
    ordinary.next();
    TimeUnit.SECONDS.sleep(seconds);
    HostileTraffic.Figures before = ordinary.next();
    double resident = fleet.residentMegabytes();
    double cpu = fleet.cpuSeconds();
    long began = System.nanoTime();
    String fault;
    String answers;
    double peak;
    try (PeakMemory memory = new PeakMemory(fleet);
        HostileClient client = new HostileClient(fleet.port(), began + TimeUnit.SECONDS.toNanos(seconds))) {
      try {
        fault = attack.script().run(fleet, client);
      } catch (IOException failed) {
        fault = "the router does not answer: " + failed;
      }
      answers = client.summary();
      peak = memory.megabytes();
    }
    double wall = (System.nanoTime() - began) / 1e9;
    double spent = fleet.cpuSeconds() - cpu;
    // Of fewer requests there is no 99th percentile.
    TimeUnit.NANOSECONDS.sleep(TimeUnit.SECONDS.toNanos(LEAST_SECONDS) - (System.nanoTime() - began));
    HostileTraffic.Figures during = ordinary.next();
    String errors = during.errors() == 0 ? "" : during.errors() + " ordinary requests failed";
    return new Result(
        attack.name(), attack.sent(), answers, spent, wall, resident, peak, before, during,
        fault.isEmpty() ? errors : errors.isEmpty() ? fault : fault + "; " + errors);
  }

  /** The router's largest resident memory while it is watched. */
  private static final class PeakMemory implements AutoCloseable {
    private final DoubleAccumulator peak = new DoubleAccumulator(Math::max, 0);
    private final AtomicBoolean watching = new AtomicBoolean(true);

    PeakMemory(HostileFleet fleet) {
      Thread.ofPlatform().daemon().name("memory").start(() -> {
        while (watching.get()) {
          peak.accumulate(fleet.residentMegabytes());
          try {
            Thread.sleep(50);
          } catch (InterruptedException stopped) {
            return;
          }
        }
      });
    }

    double megabytes() {
      return peak.get();
    }

    @Override
    public void close() {
      watching.set(false);
    }
  }

  private static Table table(List<Result> results) {
    Table table = new Table(
        "attack", "answers", "CPU s", "of s", "RSS MB", "peak", "ordinary p99 ms", "during", "ratio", "errors",
        "fault");
    for (Result result : results) {
      table.row(
          result.name(),
          result.answers(),
          "%.1f".formatted(result.cpuSeconds()),
          "%.1f".formatted(result.wallSeconds()),
          "%.0f".formatted(result.residentBefore()),
          "%.0f".formatted(result.residentPeak()),
          "%.1f".formatted(result.before().p99Millis()),
          "%.1f".formatted(result.during().p99Millis()),
          "%.1f".formatted(result.during().p99Millis() / Math.max(0.1, result.before().p99Millis())),
          String.valueOf(result.during().errors()),
          result.fault());
    }
    return table;
  }
}
