package io.kvasir.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.app.terminal.ProgressBar;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code load-tests/hang}: requests through a router before three simulated engines, half of them streams, at a steady
 * rate. After a while one engine hangs for good: it takes requests, and nothing comes of any that it has, while its
 * server answers. What becomes of all of them is counted, for Kvasir and for other routers in turn.
 */
@Command(name = "load-tests/hang", mixinStandardHelpOptions = true, sortOptions = false)
final class Hang implements Runnable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int ENGINES = 3;
  private static final Duration STARTUP = Duration.ofMinutes(3);

  @Option(names = "--peers", split = ",", converter = RouterName.class, paramLabel = "ROUTER",
      description = "Other routers: smg, vllm-router, nginx.")
  private List<Router> peers = List.of();

  @Option(names = "--rate", defaultValue = "4", description = "Requests a second, ${DEFAULT-VALUE}.")
  private double rate;

  @Option(names = "--tokens", defaultValue = "300", description = "Tokens of an answer, ${DEFAULT-VALUE}.")
  private int tokens;

  @Option(names = "--before", defaultValue = "15", description = "Seconds until it hangs, ${DEFAULT-VALUE}.")
  private int before;

  @Option(names = "--after", defaultValue = "90", description = "Seconds of requests after that, ${DEFAULT-VALUE}.")
  private int after;

  @Option(names = "--patience", defaultValue = "120",
      description = "Seconds after which a client gives up, ${DEFAULT-VALUE}.")
  private int patience;

  @Option(names = "--json", paramLabel = "OUT", description = "Write the results there, too.")
  private @Nullable Path json;

  /**
   * What became of the requests through one router.
   *
   * @param there those that the engine had when it hung
   * @param failed with an error or cut
   * @param abandoned those whose clients gave up
   * @param late answered, but ten seconds or more after others of the time before
   */
  private record Result(
      String router, int requests, int there, int failed, int abandoned, int late, @JsonProperty("p50_ms") long p50,
      @JsonProperty("p99_ms") long p99, @JsonProperty("max_ms") long max) {}

  /** How one request ended: a null answer is one that its client gave up. */
  private record Ending(boolean afterwards, long millis, @Nullable Boolean whole) {}

  /** A router by its name. */
  static final class RouterName implements CommandLine.ITypeConverter<Router> {
    @Override
    public Router convert(String name) {
      return Router.parse(name);
    }
  }

  public static void main(String[] args) {
    System.exit(new CommandLine(new Hang()).execute(args));
  }

  @Override
  public void run() {
    List<Router> routers = new ArrayList<>(List.of(Router.KVASIR));
    routers.addAll(peers);
    List<Result> results = new ArrayList<>();
    for (Router router : routers) {
      try {
        results.add(measure(router));
      } catch (IOException e) {
        System.err.printf("%s was not measured: %s%n", router, e.getMessage());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
    System.out.printf(
        "%n%-12s %9s %9s %8s %10s %6s %9s %9s %9s%n",
        "router", "requests", "at it", "failed", "given up", "late", "p50 s", "p99 s", "max s");
    for (Result r : results) {
      System.out.printf(
          "%-12s %9d %9d %8d %10d %6d %9.1f %9.1f %9.1f%n",
          r.router(), r.requests(), r.there(), r.failed(), r.abandoned(), r.late(), r.p50() / 1e3, r.p99() / 1e3,
          r.max() / 1e3);
    }
    ResultFile.write(json, JSON, results);
  }

  private Result measure(Router router) throws IOException, InterruptedException {
    List<SimEngine> engines = new ArrayList<>();
    Files.createDirectories(Router.OUT);
    try (HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
      for (int i = 0; i < ENGINES; i++) {
        engines.add(engine());
      }
      int port = Ports.free();
      List<Integer> ports = engines.stream().map(engine -> engine.url().getPort()).toList();
      try (ChildProcess process = router.start(port, ports, List.of("KVASIR_MANAGEMENT_PORT=" + Ports.free()))) {
        URI gateway = URI.create("http://127.0.0.1:" + port + "/v1/chat/completions");
        process.awaitPort(port, STARTUP);
        awaitAnswers(http, gateway, process);
        return new Traffic(router.toString(), http, gateway, engines.getFirst()).run();
      }
    } finally {
      engines.forEach(SimEngine::close);
    }
  }

  private SimEngine engine() throws IOException {
    return SimEngine.start(
        SimSettings.builder().port(0).model(Router.MODEL).speed(1).events(EventSettings.OFF).build());
  }

  /** Routers take a while to believe in their engines. */
  private void awaitAnswers(HttpClient http, URI gateway, ChildProcess router)
      throws IOException, InterruptedException {
    long from = System.nanoTime();
    for (int well = 0; well < 2 * ENGINES; ) {
      boolean answered = false;
      try {
        answered = http.send(request(gateway, -1 - well, 1), BodyHandlers.ofString()).statusCode() == 200;
      } catch (IOException notYet) {
        // It is asked again.
      }
      well = answered ? well + 1 : 0;
      if (!router.isAlive() || System.nanoTime() - from > STARTUP.toNanos()) {
        throw new IOException("no answers; see its log in " + Router.OUT);
      }
      if (!answered) {
        Thread.sleep(300);
      }
    }
  }

  private static HttpRequest request(URI gateway, int number, int tokens) {
    ObjectNode body =
        JSON.createObjectNode().put("model", Router.MODEL).put("max_tokens", tokens).put("ignore_eos", true)
            .put("stream", isStream(number));
    body.putArray("messages").addObject()
        .put("role", "user").put("content", Words.text(new Random(number), 1000));
    return HttpRequest.newBuilder(gateway)
        .header("Content-Type", "application/json")
        .POST(BodyPublishers.ofString(body.toString()))
        .build();
  }

  private static boolean isStream(int number) {
    return number % 2 == 0;
  }

  /** The requests through one router. */
  private final class Traffic {
    private final String router;
    private final HttpClient http;
    private final URI gateway;
    private final SimEngine victim;
    private final Queue<Ending> endings = new ConcurrentLinkedQueue<>();
    private final List<CompletableFuture<?>> open = new ArrayList<>();
    private long hungNanos;
    private int there;

    Traffic(String router, HttpClient http, URI gateway, SimEngine victim) {
      this.router = router;
      this.http = http;
      this.gateway = gateway;
      this.victim = victim;
    }

    Result run() throws IOException, InterruptedException {
      int requests = (int) (rate * (before + after));
      long from = System.nanoTime();
      try (ProgressBar progress = new ProgressBar(router)) {
        for (int number = 0; number < requests; number++) {
          TimeUnit.NANOSECONDS.sleep(from + (long) (number / rate * 1e9) - System.nanoTime());
          if (there == 0 && number >= rate * before && victim.stats().running() > 0) {
            hungNanos = System.nanoTime();
            victim.setCondition(EngineCondition.WEDGE, true);
            there = victim.stats().running() + victim.stats().waiting();
          }
          send(number);
          progress.draw((double) number / requests, "%d sent, %d ended".formatted(number, endings.size()));
        }
        CompletableFuture.allOf(open.toArray(CompletableFuture[]::new)).join();
      }
      return result();
    }

    private void send(int number) {
      long begun = System.nanoTime();
      CompletableFuture<HttpResponse<String>> answer =
          http.sendAsync(request(gateway, number, tokens), BodyHandlers.ofString());
      open.add(
          answer.copy().orTimeout(patience, TimeUnit.SECONDS).handle((response, failure) -> {
            long now = System.nanoTime();
            boolean gaveUp = response == null && TimeUnit.NANOSECONDS.toSeconds(now - begun) >= patience;
            Boolean whole = gaveUp ? null : Boolean.valueOf(response != null && isWhole(response, number));
            endings.add(
                new Ending(hungNanos != 0 && now - hungNanos > 0, TimeUnit.NANOSECONDS.toMillis(now - begun), whole));
            return answer.cancel(true);
          }));
    }

    private boolean isWhole(HttpResponse<String> response, int number) {
      return response.statusCode() == 200 && (!isStream(number) || response.body().endsWith("data: [DONE]\n\n"));
    }

    private Result result() {
      Histogram earlier = histogram(endings.stream().filter(each -> !each.afterwards()).toList());
      long usual = earlier.getMaxValue() + TimeUnit.SECONDS.toMillis(10);
      List<Ending> afterwards = endings.stream().filter(Ending::afterwards).toList();
      Histogram later = histogram(afterwards);
      return new Result(
          router,
          endings.size(),
          there,
          (int) endings.stream().filter(each -> Boolean.FALSE.equals(each.whole())).count(),
          (int) endings.stream().filter(each -> each.whole() == null).count(),
          (int) afterwards.stream().filter(each -> Boolean.TRUE.equals(each.whole()) && each.millis() > usual).count(),
          later.getValueAtPercentile(50),
          later.getValueAtPercentile(99),
          later.getMaxValue());
    }

    private Histogram histogram(List<Ending> all) {
      Histogram histogram = new Histogram(3);
      all.forEach(each -> histogram.recordValue(each.millis()));
      return histogram;
    }
  }
}
