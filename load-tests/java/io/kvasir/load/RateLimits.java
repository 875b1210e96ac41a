package io.kvasir.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * How exactly limits hold over three nodes, each a process of its own: a key's requests come half as fast again as its
 * limit allows, and what was admitted, once the burst is used up, is compared with the limit.
 */
@Command(name = "limits", mixinStandardHelpOptions = true, sortOptions = false)
final class RateLimits implements Runnable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int NODES = 3;
  private static final double LOAD = 1.5;
  private static final double CACHED_COST = 0.1;
  private static final double OUTPUT_COST = 3;
  private static final Duration WARM_UP = Duration.ofSeconds(5);

  @Option(names = "--scenario", split = ",", description = "Some of ${COMPLETION-CANDIDATES}; all without.")
  private List<Scenario> scenarios = List.of(Scenario.values());

  @Option(names = "--seconds", description = "How long a scenario is measured, ${DEFAULT-VALUE}.")
  private int seconds = 10;

  @Option(names = "--launcher", description = "What starts a node, ${DEFAULT-VALUE}.")
  private Path launcher = Path.of("./kvasir");

  @Option(names = "--json", description = "Writes the results there, too.")
  private @Nullable Path json;

  /** A key with one limit, and how its requests come. */
  private enum Scenario {
    REQUESTS("requests-per-minute = 3000", 50, "34/33/33"),
    REQUESTS_AT_ONE_NODE("requests-per-minute = 3000", 50, "100/0/0"),
    REQUESTS_UNEVEN("requests-per-minute = 3000", 50, "80/15/5"),
    TOKENS("tokens-per-minute = 300000", 5000, "34/33/33"),
    CONCURRENT("concurrent = 12", 12, "34/33/33"),
    NODE_KILLED("requests-per-minute = 3000", 50, "34/33/33");

    private final String limit;
    private final double allowed;
    private final String percent;

    /**
     * A scenario.
     *
     * @param allowed by the limit: in a second, or at a time
     * @param percent of the load for each node
     */
    Scenario(String limit, double allowed, String percent) {
      this.limit = limit;
      this.allowed = allowed;
      this.percent = percent;
    }

    String key() {
      return "key-of-" + name();
    }
  }

  /** What a scenario has shown; of requests at a time, the average and the most. */
  private record Result(
      @JsonProperty("scenario") String scenario,
      @JsonProperty("allowed") double allowed,
      @JsonProperty("admitted") double admitted,
      @JsonProperty("deviation_percent") double deviation,
      @JsonProperty("most_at_a_time") int most,
      @JsonProperty("refused") long refused,
      @JsonProperty("failed") long failed) {}

  /** What one scenario's answers add up to, from a moment on. */
  private static final class Counts {
    final LongAdder work = new LongAdder();
    final LongAdder refused = new LongAdder();
    final LongAdder failed = new LongAdder();
    final AtomicBoolean counting = new AtomicBoolean();
  }

  public static void main(String[] args) {
    System.exit(new CommandLine(new RateLimits()).setCaseInsensitiveEnumValuesAllowed(true).execute(args));
  }

  @Override
  public void run() {
    try (SimEngine engine = engine();
        RouterNodes nodes =
            new RouterNodes(
                launcher.toAbsolutePath(), Path.of("target", "limits"), NODES, NODES, List.of(engine), 4096, settings(),
                new LoopbackNetwork(NODES));
        HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
      for (RouterNodes.Node node : nodes.all()) {
        nodes.awaitReady(node, 1);
      }
      List<Result> results = new ArrayList<>();
      System.out.printf(
          "%-22s %10s %10s %10s %6s %8s %7s%n", "scenario", "allowed", "admitted", "deviation", "most", "refused",
          "failed");
      for (Scenario scenario : scenarios) {
        Result r =
            scenario == Scenario.CONCURRENT
                ? concurrent(scenario, engine, nodes, http)
                : rate(scenario, nodes, http);
        System.out.printf(
            "%-22s %10.1f %10.1f %+9.2f%% %6d %8d %7d%n", r.scenario, r.allowed, r.admitted, r.deviation, r.most,
            r.refused, r.failed);
        results.add(r);
      }
      ResultFile.write(json, JSON, results);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Requests at fixed times, whether or not earlier ones are answered. */
  private Result rate(Scenario scenario, RouterNodes nodes, HttpClient http) throws InterruptedException {
    boolean tokens = scenario == Scenario.TOKENS;
    Random random = new Random(scenario.name().hashCode());
    Counts counts = new Counts();
    // About as much; what a request did cost is read from its answer.
    double each = tokens ? 120 : 1;
    long pause = (long) (1e9 * each / scenario.allowed / LOAD);
    long begun = System.nanoTime();
    long from = begun + WARM_UP.toNanos();
    // The time without an owner is made up for afterwards.
    int measured = scenario == Scenario.NODE_KILLED ? 2 * seconds : seconds;
    long to = from + Duration.ofSeconds(measured).toNanos();
    boolean killed = false;
    try (ExecutorService requests = Executors.newVirtualThreadPerTaskExecutor()) {
      for (long next = begun; next < to; next += pause) {
        LockSupport.parkNanos(next - System.nanoTime());
        counts.counting.set(System.nanoTime() >= from);
        if (scenario == Scenario.NODE_KILLED && !killed && next > from + (to - from) / 4) {
          killed = true;
          nodes.kill(nodes.all().getLast());
        }
        RouterNodes.Node node = node(scenario, nodes, random);
        String body = body(random, tokens ? 300 : 5, tokens ? 20 : 1);
        requests.execute(() -> count(send(http, node, scenario, body), counts, tokens));
      }
      counts.counting.set(false);
    }
    double allowed = scenario.allowed * measured;
    return new Result(
        scenario.name(), allowed, counts.work.sum(), 100 * (counts.work.sum() / allowed - 1), 0, counts.refused.sum(),
        counts.failed.sum());
  }

  /** Twice as many clients as may have a request at a time, each with the next one as soon as it may. */
  private Result concurrent(Scenario scenario, SimEngine engine, RouterNodes nodes, HttpClient http)
      throws InterruptedException {
    Counts counts = new Counts();
    AtomicBoolean stopped = new AtomicBoolean();
    long samples = 0;
    long sum = 0;
    int most = 0;
    try (ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int client = 0; client < 2 * scenario.allowed; client++) {
        Random random = new Random(client);
        clients.execute(() -> {
          while (!stopped.get()) {
            count(send(http, node(scenario, nodes, random), scenario, body(random, 5, 400)), counts, false);
            LockSupport.parkNanos(Duration.ofMillis(25).toNanos());
          }
        });
      }
      Thread.sleep(WARM_UP);
      counts.counting.set(true);
      for (long end = System.nanoTime() + Duration.ofSeconds(seconds).toNanos(); System.nanoTime() < end; samples++) {
        int running = engine.stats().running() + engine.stats().waiting();
        sum += running;
        most = Math.max(most, running);
        Thread.sleep(2);
      }
      counts.counting.set(false);
      stopped.set(true);
    }
    double average = (double) sum / Math.max(1, samples);
    return new Result(
        scenario.name(), scenario.allowed, average, 100 * (average / scenario.allowed - 1), most, counts.refused.sum(),
        counts.failed.sum());
  }

  private static RouterNodes.Node node(Scenario scenario, RouterNodes nodes, Random random) {
    int at = random.nextInt(100);
    int node = -1;
    int below = 0;
    for (String percent : scenario.percent.split("/", -1)) {
      if (at >= below) {
        node++;
      }
      below += Integer.parseInt(percent);
    }
    RouterNodes.Node chosen = nodes.all().get(node);
    return chosen.isOpen() ? chosen : nodes.all().get(random.nextInt(NODES - 1));
  }

  private static @Nullable HttpResponse<String> send(
      HttpClient http, RouterNodes.Node node, Scenario scenario, String body) {
    try {
      return http.send(
          HttpRequest.newBuilder(node.gateway("/v1/completions"))
              .header("Content-Type", "application/json")
              .header("Authorization", "Bearer " + scenario.key())
              .timeout(Duration.ofSeconds(30))
              .POST(BodyPublishers.ofString(body))
              .build(),
          BodyHandlers.ofString());
    } catch (IOException failed) {
      return null;
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  private static void count(@Nullable HttpResponse<String> answer, Counts counts, boolean tokens) {
    if (!counts.counting.get()) {
      return;
    }
    if (answer != null && answer.statusCode() == 200) {
      counts.work.add(tokens ? work(answer.body()) : 1);
    } else if (answer != null && answer.statusCode() == 429) {
      counts.refused.increment();
    } else {
      counts.failed.increment();
    }
  }

  private static long work(String body) {
    try {
      JsonNode usage = JSON.readTree(body).path("usage");
      long cached = usage.at("/prompt_tokens_details/cached_tokens").asLong();
      long uncached = usage.path("prompt_tokens").asLong() - cached;
      return Math.round(uncached + cached * CACHED_COST + usage.path("completion_tokens").asLong() * OUTPUT_COST);
    } catch (IOException noJson) {
      throw new IllegalStateException(body, noJson);
    }
  }

  private static String body(Random random, int words, int output) {
    return JSON.createObjectNode()
        .put("model", "kvasir-demo")
        .put("max_tokens", output)
        .put("ignore_eos", true)
        .put("prompt", Words.text(random, words))
        .toString();
  }

  private static String settings() {
    return Arrays.stream(Scenario.values())
        .map(scenario -> "{ id = %s, tenant = load, sha256 = \"%s\", limits { %s } }".formatted(
            scenario.name(), sha256(scenario.key()), scenario.limit))
        .collect(Collectors.joining("\n    ", "limits.burst = 2 s\n  access.keys = [\n    ", "\n  ]"));
  }

  private static String sha256(String key) {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError("every Java has SHA-256", impossible);
    }
  }

  private static SimEngine engine() throws IOException {
    return SimEngine.start(
        SimSettings.builder()
            .port(0)
            .model("kvasir-demo")
            .capacityBlocks(16384)
            .speed(4)
            .events(EventSettings.DEFAULT.withLoopback())
            .build());
  }
}
