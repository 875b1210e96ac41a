package io.kvasir.load;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.load.LoadGenerator.ArrivalMode;
import io.kvasir.load.LoadGenerator.LoadResult;
import io.kvasir.load.LoadGenerator.Task;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * The first minute of routers: seconds from their start until they are ready, then 64 clients at once, for five seconds
 * and again when they have been under load for a while. Kvasir with and without its AOT cache, beside
 * others. Then a node that joins a cluster of two under load, and gets one request of twenty.
 */
@Command(name = "load-tests/cold", mixinStandardHelpOptions = true, sortOptions = false, showDefaultValues = true)
final class Cold implements Runnable {
  private static final int ENGINES = 4;
  private static final int CLIENTS = 64;
  private static final int CHAT_BYTES = 2_000;
  private static final double WINDOW = 5;
  private static final Duration START_LIMIT = Duration.ofMinutes(2);
  private static final Path LAUNCHER = Path.of("./kvasir").toAbsolutePath();

  @Option(names = "--peers", split = ",", defaultValue = "smg,vllm-router", description = "Other routers, or none.")
  private List<String> peers = List.of();

  @Option(names = "--load", defaultValue = "30", description = "Seconds of load between the first and the last window.")
  private double load;

  @Option(names = "--variants", split = ",", defaultValue = "plain,cache,both", description = "Of Kvasir.")
  private List<String> variants = List.of();

  @Option(names = "--join", negatable = true, defaultValue = "true", fallbackValue = "true",
      description = "Whether a node joins a cluster, too.")
  private boolean join;

  @Option(names = "--rate", defaultValue = "200", description = "Requests a second while a node joins.")
  private int rate;

  @Option(names = "--json", paramLabel = "OUT", description = "Write the results there, too.")
  private @Nullable Path json;

  private final HttpClient http = HttpClient.newHttpClient();

  /** Five seconds of load; CPU time is the router's. */
  private record Window(double p50Millis, double p99Millis, double cpuMicrosPerRequest, double requestsPerSecond) {
    @Override
    public String toString() {
      return String.format(
          Locale.ROOT, "%8.1f %8.1f %8.0f %8.0f", p50Millis, p99Millis, cpuMicrosPerRequest, requestsPerSecond);
    }
  }

  public static void main(String[] arguments) {
    System.exit(new CommandLine(new Cold()).execute(arguments));
  }

  @Override
  public void run() {
    try {
      Files.createDirectories(Router.OUT);
      List<Map<String, Object>> results = new ArrayList<>(starts());
      if (join) {
        results.add(joining());
      }
      ResultFile.write(json, new ObjectMapper(), results);
    } catch (IOException failed) {
      throw new IllegalStateException(failed.getMessage(), failed);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private List<Map<String, Object>> starts() throws IOException, InterruptedException {
    List<Map<String, Object>> results = new ArrayList<>();
    try (ChildProcess engines =
            ChildProcess.java(
                "engines",
                Router.OUT.resolve("engines.log"),
                List.of("-Xmx256m"),
                FakeEngines.class,
                Stream.concat(Stream.of(Router.MODEL, "20"), Stream.generate(() -> "0").limit(ENGINES))
                    .toArray(String[]::new));
        LoadGenerator.Remote clients = new LoadGenerator.Remote(Router.OUT.resolve("load.log"))) {
      List<Integer> ports = Arrays.stream(engines.awaitLine("ports ").split(" ", -1)).map(Integer::valueOf).toList();
      clients.run(new Task(ports.getFirst(), Router.MODEL, ArrivalMode.CLOSED, CLIENTS, 0, 5, 0, CHAT_BYTES, false));
      if (!variants.equals(List.of("none"))) {
        makeCache();
      }
      System.out.printf("%-16s %7s %35s %35s%n", "", "", "first 5 s", "steady");
      String columns = String.format("%8s %8s %8s %8s", "p50 ms", "p99 ms", "us/req", "req/s");
      System.out.printf("%-16s %7s %s %s   p99, CPU against steady%n", "router", "ready s", columns, columns);
      for (String variant : variants) {
        if (!variant.equals("none")) {
          results.add(measure("kvasir " + variant, Router.KVASIR, environment(variant), ports, clients));
        }
      }
      for (String peer : peers) {
        if (!peer.equals("none")) {
          results.add(measure(peer, Router.parse(peer), List.of(), ports, clients));
        }
      }
    }
    return results;
  }

  /** The launcher makes it at the first start after a build, which is none to be measured. */
  private static void makeCache() throws IOException, InterruptedException {
    Process version = new ProcessBuilder(LAUNCHER.toString(), "version").inheritIO().start();
    if (!version.waitFor(10, TimeUnit.MINUTES) || version.exitValue() != 0) {
      throw new IOException("./kvasir version failed");
    }
  }

  private static List<String> environment(String variant) {
    return switch (variant) {
      case "plain" -> List.of("KVASIR_AOT=off", "KVASIR_WARM_UP=false");
      case "cache" -> List.of("KVASIR_WARM_UP=false");
      case "warm-up" -> List.of("KVASIR_AOT=off");
      case "both" -> List.of();
      default -> throw new IllegalArgumentException("--variants: plain, cache, warm-up, both or none, not " + variant);
    };
  }

  private Map<String, Object> measure(
      String name, Router router, List<String> environment, List<Integer> engines, LoadGenerator.Remote clients)
      throws IOException, InterruptedException {
    int port = Ports.free();
    int management = Ports.free();
    List<String> all = new ArrayList<>(environment);
    all.add("KVASIR_MANAGEMENT_PORT=" + management);
    long begin = System.nanoTime();
    try (ChildProcess child = router.start(port, engines, all)) {
      awaitReady(child, router, port, management);
      double ready = (System.nanoTime() - begin) / 1e9;
      Window first = window(child, clients, port);
      clients.run(new Task(port, Router.MODEL, ArrivalMode.CLOSED, CLIENTS, 0, load, 0, CHAT_BYTES, false));
      Window steady = window(child, clients, port);
      System.out.printf(
          Locale.ROOT, "%-16s %7.1f %s %s   %.1f, %.1f%n", name, ready, first, steady,
          first.p99Millis() / steady.p99Millis(), first.cpuMicrosPerRequest() / steady.cpuMicrosPerRequest());
      Map<String, Object> result = new LinkedHashMap<>();
      result.put("name", name);
      result.put("ready_s", ready);
      result.put("first", first);
      result.put("steady", steady);
      return result;
    }
  }

  private static Window window(ChildProcess router, LoadGenerator.Remote clients, int port) throws IOException {
    double before = router.cpuSeconds();
    LoadResult result =
        clients.run(new Task(port, Router.MODEL, ArrivalMode.CLOSED, CLIENTS, 0, WINDOW, 0, CHAT_BYTES, false));
    if (result.errors() > 0) {
      DataPathProbe.progress(router.name(), result.errors() + " requests failed: " + result.firstError());
    }
    double cpu = 1e6 * (router.cpuSeconds() - before) / Math.max(1, result.requests());
    return new Window(result.p50Millis(), result.p99Millis(), cpu, result.requests() / result.seconds());
  }

  /** A load balancer's question: for Kvasir {@code /ready}; for the others, whether a request is answered. */
  private void awaitReady(ChildProcess child, Router router, int port, int management)
      throws IOException, InterruptedException {
    HttpRequest question =
        router == Router.KVASIR
            ? HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + management + "/ready")).build()
            : HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/chat/completions"))
                .header("Content-Type", "application/json")
                .POST(
                    BodyPublishers.ofString(
                        "{\"model\":\"%s\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}"
                            .formatted(Router.MODEL)))
                .build();
    long end = System.nanoTime() + START_LIMIT.toNanos();
    while (true) {
      try {
        if (http.send(question, BodyHandlers.discarding()).statusCode() == 200) {
          return;
        }
      } catch (IOException notYet) {
        if (!child.isAlive()) {
          throw new IOException(child.name() + " has ended; see its log", notYet);
        }
      }
      if (System.nanoTime() - end > 0) {
        throw new IOException(child.name() + " is not ready after " + START_LIMIT + "; see its log");
      }
      Thread.sleep(20);
    }
  }

  private Map<String, Object> joining() throws IOException, InterruptedException {
    try (SimEngine engine =
            SimEngine.start(
                SimSettings.builder().host("127.0.0.1").port(0).model(Router.MODEL).speed(0)
                    .events(EventSettings.DEFAULT.withLoopback()).build());
        RouterNodes nodes =
            new RouterNodes(
                LAUNCHER, Path.of("target", "cold"), 3, 2, List.of(engine), 1000, "", new LoopbackNetwork(3));
        LoadGenerator.Remote clients = new LoadGenerator.Remote(Router.OUT.resolve("load.log"))) {
      RouterNodes.Node first = nodes.all().getFirst();
      RouterNodes.Node second = nodes.all().get(1);
      RouterNodes.Node joiner = nodes.all().getLast();
      nodes.awaitReady(first, 1);
      nodes.awaitReady(second, 1);
      paced(clients, first, second, load / 2);
      LoadResult before = paced(clients, first, second, WINDOW * 2);
      nodes.launch(joiner);
      nodes.awaitReady(joiner, 1);
      LoadResult after = paced(clients, first, joiner, WINDOW * 2);
      LoadResult later = paced(clients, first, second, WINDOW * 2);
      System.out.printf(
          Locale.ROOT,
          "a node joins, at %d requests a second: p99 before %.1f ms, with 1 of 20 requests at the new node %.1f ms"
              + " (%+.0f %%), with that one at an old node again %.1f ms%n",
          rate, before.p99Millis(), after.p99Millis(), 100 * (after.p99Millis() / before.p99Millis() - 1),
          later.p99Millis());
      Map<String, Object> result = new LinkedHashMap<>();
      result.put("name", "join");
      result.put("before", before);
      result.put("joined", after);
      result.put("old nodes", later);
      return result;
    }
  }

  /** One request of twenty goes to {@code other}. */
  private LoadResult paced(
      LoadGenerator.Remote clients, RouterNodes.Node most, RouterNodes.Node other, double seconds) throws IOException {
    return clients.run(
        new Task(
            most.gateway("").getPort(), Router.MODEL, ArrivalMode.PACED, CLIENTS, rate, seconds, 0, CHAT_BYTES,
            false, List.of(other.gateway("").getPort())));
  }
}
