package io.kvasir.load;

import io.kvasir.http.client.ScriptedPod;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A router with a small heap before engines for ordinary clients, engines that some prompts kill, and one that fails
 * on some requests and remembers what has reached it. Closing it stops all of them.
 */
final class HostileFleet implements AutoCloseable {
  /** The model of the engines that a prompt with {@link #DEADLY} in it kills. */
  static final String MORTAL = "mortal";
  static final String DEADLY = "kill your engine";
  /** The model of the engine that answers 500 to a request with {@link #FAILING} in it. */
  static final String FRAGILE = "fragile";
  static final String FAILING = "fail, please";

  private static final long DEAD_NANOS = TimeUnit.SECONDS.toNanos(8);
  private static final String ANSWER = """
      {"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",\
      "content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}""";

  private final List<AutoCloseable> parts = new ArrayList<>();
  private final Set<String> reached = ConcurrentHashMap.newKeySet();
  private final Set<Integer> killed = ConcurrentHashMap.newKeySet();
  private final int port = Ports.free();
  private final int management = Ports.free();
  private final HttpClient http = HttpClient.newHttpClient();
  private final ChildProcess router;

  /**
   * Starts it and waits until it is ready.
   *
   * @param heap as {@code -Xmx} has it
   * @param settings of the router, beside its ports and pods
   */
  HostileFleet(Path work, String heap, String settings) throws IOException, InterruptedException {
    Files.createDirectories(work);
    ChildProcess engines = own(
        ChildProcess.java(
            "engines", work.resolve("engines.log"), List.of("-Xmx256m"), FakeEngines.class, "kvasir-demo", "20",
            "0", "0", "0"));
    List<String> pods =
        Arrays.stream(engines.awaitLine("ports").strip().split(" ", -1))
            .map(engine -> pod("engine-" + engine, "http://127.0.0.1:" + engine, "kvasir-demo"))
            .collect(Collectors.toList());
    for (int i = 0; i < 5; i++) {
      pods.add(pod("mortal-" + i, mortal(i).url().toString(), MORTAL));
    }
    pods.add(pod("fragile", fragile().url().toString(), FRAGILE));
    Path config = work.resolve("kvasir.conf");
    Files.writeString(config, """
        kvasir {
          gateway { host = "127.0.0.1", port = %d }
          management.port = %d
          %s
          models = [{ name = "kvasir-demo", directory = "bundled:kvasir-demo", block-size = 16 }]
          pods = [
            %s
          ]
        }
        """.formatted(port, management, settings, String.join("\n    ", pods)));
    router = own(
        ChildProcess.quiet(
            "router", work.resolve("router.log"),
            List.of("env", "KVASIR_JAVA_OPTS=-Xmx" + heap, "./kvasir", "serve", "--config", config.toString())));
    awaitReady(work);
  }

  /** Where the gateway listens. */
  URI gateway() {
    return URI.create("http://127.0.0.1:" + port);
  }

  /** The port of the gateway. */
  int port() {
    return port;
  }

  /** The management port. */
  int management() {
    return management;
  }

  /** CPU seconds of the router so far. */
  double cpuSeconds() {
    return router.cpuSeconds();
  }

  /** Resident memory of the router in MiB. */
  double residentMegabytes() {
    return router.residentMegabytes();
  }

  /** The targets and bodies that have reached the {@link #FRAGILE} engine. */
  Set<String> reached() {
    return reached;
  }

  /** How many of the {@link #MORTAL} engines have been killed. */
  int killed() {
    return killed.size();
  }

  /** The value of a metric of the router, the sum of its series; 0 when there is none. */
  double metric(String name) throws IOException, InterruptedException {
    return Stream.of(get("/metrics").split("\n", -1))
        .filter(line -> line.startsWith(name + " ") || line.startsWith(name + "{"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  @Override
  public void close() {
    for (AutoCloseable part : parts.reversed()) {
      try {
        part.close();
      } catch (Exception e) {
        System.err.println("cannot stop " + part + ": " + e);
      }
    }
    http.close();
  }

  private ScriptedPod mortal(int number) {
    long[] deadUntil = {System.nanoTime()};
    return own(
        new ScriptedPod((request, out) -> {
          if (request.text().contains(DEADLY)) {
            killed.add(number);
            deadUntil[0] = System.nanoTime() + DEAD_NANOS;
          }
          if (System.nanoTime() < deadUntil[0]) {
            out.reset();
          } else {
            out.json(200, ANSWER);
          }
        }));
  }

  private ScriptedPod fragile() {
    return own(
        new ScriptedPod((request, out) -> {
          reached.add(request.method() + " " + request.target() + " " + request.headers() + " " + request.text());
          out.json(request.text().contains(FAILING) ? 500 : 200, ANSWER);
        }));
  }

  private static String pod(String name, String url, String model) {
    return "{ name = \"%s\", url = \"%s\", models = [%s], max-in-flight = 1000 }".formatted(name, url, model);
  }

  private void awaitReady(Path work) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(90);
    while (System.nanoTime() < deadline) {
      try {
        if (get("/health", port).contains("\"healthy\":9")) {
          return;
        }
      } catch (IOException notYet) {
        // It is starting.
      }
      Thread.sleep(200);
    }
    close();
    throw new IllegalStateException("the router does not become ready; its log is in " + work);
  }

  private String get(String path) throws IOException, InterruptedException {
    return get(path, management);
  }

  private String get(String path, int at) throws IOException, InterruptedException {
    URI uri = URI.create("http://127.0.0.1:" + at + path);
    return http.send(HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(10)).build(), BodyHandlers.ofString())
        .body();
  }

  private <T extends AutoCloseable> T own(T part) {
    parts.add(part);
    return part;
  }
}
