package io.kvasir.load;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.app.terminal.ProgressBar;
import io.kvasir.load.LmcacheFleet.Hardware;
import io.kvasir.load.LongSessions.Request;
import io.kvasir.sim.core.EngineStats;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code load-tests/lmcache}: long conversations before four simulated engines whose device caches hold few of them and
 * whose host memories hold their share. For each profile, with a fleet of its own: where prompts were found, how long
 * the first token took, errors, and decisions that fell back while the LMCache controller was down.
 */
@Command(name = "load-tests/lmcache", mixinStandardHelpOptions = true, sortOptions = false, showDefaultValues = true)
final class Lmcache implements Runnable {
  private static final ObjectMapper JSON =
      JsonMapper.builder().propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE).build();

  @Option(
      names = "--profiles",
      split = ",",
      defaultValue = "round-robin,lmcache-occupancy,lmcache-lookup,expected-cost,expected-cost-lmcache")
  private List<String> profiles = List.of();

  @Option(names = "--requests", defaultValue = "800", description = "Requests for each profile.")
  private int requests;

  @Option(names = "--sessions", defaultValue = "40", description = "Conversations at a time.")
  private int sessions;

  @Option(names = "--think-ms", defaultValue = "2000", description = "Mean time between an answer and the next turn.")
  private long thinkMs;

  @Option(names = "--engine", defaultValue = "h100-Qwen3-32B-tp2", description = "Latency coefficients of the engines.")
  private String engine = "";

  @Option(names = "--capacity", defaultValue = "2000", description = "KV blocks on an engine's device.")
  private int capacity;

  @Option(names = "--host-blocks", defaultValue = "8000", description = "KV blocks in an engine's host memory.")
  private int hostBlocks;

  @Option(names = "--json", paramLabel = "OUT", description = "Write the results there, too.")
  private @Nullable Path json;

  /** Times to first token in milliseconds. */
  private record Ttft(double p50, double p99) {}

  /** What one profile came to; hit rates are shares of prompt tokens. */
  private record Result(
      String profile, double hitRateDevice, double hitRateHost, Ttft ttftMs, int errors, int fallbackDecisions) {}

  public static void main(String[] args) {
    System.exit(new CommandLine(new Lmcache()).execute(args));
  }

  @Override
  public void run() {
    List<Result> results = new ArrayList<>();
    for (String profile : profiles) {
      results.add(measure(profile));
    }
    System.out.printf(
        "%n%-24s %12s %10s %10s %10s %8s %10s%n",
        "profile", "device hits", "host hits", "TTFT p50", "p99", "errors", "fallbacks");
    for (Result r : results) {
      System.out.printf(
          "%-24s %11.1f%% %9.1f%% %7.0f ms %7.0f ms %8d %10d%n",
          r.profile(), 100 * r.hitRateDevice(), 100 * r.hitRateHost(), r.ttftMs().p50(), r.ttftMs().p99(), r.errors(),
          r.fallbackDecisions());
    }
    ResultFile.write(json, JSON, results);
  }

  private Result measure(String profile) {
    Hardware hardware = new Hardware(engine, capacity, hostBlocks);
    try (LmcacheFleet fleet = new LmcacheFleet(Path.of("target", "lmcache", profile), profile, hardware)) {
      fleet.awaitReady();
      try (LongSessions load = new LongSessions(fleet.chat(), sessions, requests, Duration.ofMillis(thinkMs))) {
        drive(profile, fleet, load);
        return result(profile, load.ended(), fleet);
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** Kills the controller after two fifths of the requests and starts it again after three. */
  private void drive(String profile, LmcacheFleet fleet, LongSessions load) throws IOException, InterruptedException {
    boolean killed = false;
    boolean back = false;
    try (ProgressBar progress = new ProgressBar(profile)) {
      while (!load.awaitEnd(Duration.ofMillis(250))) {
        int done = load.ended().size();
        if (!killed && done >= requests * 2 / 5) {
          fleet.killController();
          killed = true;
        } else if (!back && done >= requests * 3 / 5) {
          fleet.startController();
          back = true;
        }
        String controller = killed == back ? "" : ", controller killed";
        progress.draw((double) done / requests, "%d of %d requests%s".formatted(done, requests, controller));
      }
      progress.draw(1, "%d requests".formatted(requests));
    }
  }

  private static Result result(String profile, List<Request> requests, LmcacheFleet fleet) {
    requests.stream()
        .filter(Request::failed)
        .limit(5)
        .forEach(request -> System.err.println("error: " + request.error()));
    double[] firstTokens =
        requests.stream()
            .filter(request -> !request.failed())
            .mapToDouble(Request::firstTokenMillis)
            .sorted()
            .toArray();
    long prompt = requests.stream().mapToLong(Request::promptTokens).sum();
    long reused = requests.stream().mapToLong(Request::reused).sum();
    EngineStats stats = fleet.stats();
    System.err.printf("%-24s %.0f%% of %d prompt tokens were reported before%n", "", 100.0 * reused / prompt, prompt);
    return new Result(
        profile,
        (double) stats.hitTokens() / stats.queriedTokens(),
        (double) stats.hostHitTokens() / stats.queriedTokens(),
        new Ttft(percentile(firstTokens, 0.5), percentile(firstTokens, 0.99)),
        (int) requests.stream().filter(Request::failed).count(),
        Math.max(decidedByOthers(profile, requests), fleet.unansweredLookups()));
  }

  /** A profile that does not know enough leaves the decision to another, whose name is given as the reason then. */
  private static int decidedByOthers(String profile, List<Request> requests) {
    return (int)
        requests.stream()
            .filter(request -> !request.failed() && !request.reason().startsWith(profile + ";"))
            .count();
  }

  private static double percentile(double[] sorted, double share) {
    return sorted.length == 0 ? 0 : sorted[(int) (share * (sorted.length - 1))];
  }
}
