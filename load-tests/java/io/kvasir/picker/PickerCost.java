package io.kvasir.picker;

import io.kvasir.load.Ports;
import io.kvasir.picker.TestEnvoy.Destination;
import io.kvasir.picker.TestEnvoy.Listener;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * What the endpoint picker costs: the same requests through an Envoy alone, through an Envoy that asks a processor that
 * only answers, through one that asks the picker, with and without the answer, and through Kvasir's own gateway. Eight
 * clients warm each up and then show the CPU time of Kvasir's process for a request; one client after them, which goes
 * each way in turn, shows times.
 */
@Command(name = "picker", mixinStandardHelpOptions = true, sortOptions = false)
final class PickerCost implements Callable<Integer> {
  private static final int EVENTS = 500;
  private static final int CLIENTS = 8;
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @Parameters(paramLabel = "PHASE", description = "Some of 2KB, 242KB, events; all without.")
  private List<String> phases = List.of();

  @Option(
      names = "--warm-up",
      description = "Times that a phase's requests are sent before they count, ${DEFAULT-VALUE}; with 5 the JVM has"
          + " compiled nearly all.")
  private int warmUp = 1;

  /** A router process with a picker, and the addresses of both. */
  private record Router(Process process, int gateway, int picker) implements AutoCloseable {
    static Router start(Path directory, List<EchoEngine> engines, boolean earlyClose) throws Exception {
      int gateway = Ports.free();
      int picker = Ports.free();
      StringBuilder pods = new StringBuilder();
      for (EchoEngine engine : engines) {
        pods.append(
            "{ name = e%d, url = \"%s\", models = [kvasir-demo], max-in-flight = 1000 }\n"
                .formatted(engine.port(), engine.url()));
      }
      Path config = directory.resolve("kvasir-%d.conf".formatted(gateway));
      Files.writeString(
          config,
          """
          kvasir {
            gateway { host = "127.0.0.1", port = %d }
            access.open-routing-details = true
            management.port = 0
            models = [{ name = kvasir-demo, directory = "bundled:kvasir-demo" }]
            pods = [%s]
            picker {
              enabled = true, host = "127.0.0.1", port = %d, health-port = 0, tls.enabled = false, early-close = %s
              unseen-booking = 100 ms
            }
          }
          """.formatted(gateway, pods, picker, earlyClose));
      Process process =
          new ProcessBuilder("./kvasir", "serve", "--config", config.toString())
              .redirectErrorStream(true)
              .redirectOutput(directory.resolve("kvasir-%d.log".formatted(gateway)).toFile())
              .start();
      Router router = new Router(process, gateway, picker);
      router.awaitReady();
      return router;
    }

    private void awaitReady() throws IOException, InterruptedException {
      long deadline = System.nanoTime() + Duration.ofMinutes(2).toNanos();
      while (status() != 200) {
        if (System.nanoTime() > deadline || !process.isAlive()) {
          throw new IOException("the router does not serve");
        }
        Thread.sleep(100);
      }
    }

    private int status() throws IOException, InterruptedException {
      try {
        return post(gateway, body(100)).statusCode();
      } catch (ConnectException notYet) {
        return 0;
      }
    }

    Duration cpu() {
      return process.info().totalCpuDuration().orElse(Duration.ZERO);
    }

    @Override
    public void close() {
      process.destroyForcibly();
    }
  }

  /** Prints one table, of the phases that are named, or of all; takes about a minute. */
  public static void main(String[] args) {
    // Else each event of the engines waits for the acknowledgement of the one before.
    System.setProperty("sun.net.httpserver.nodelay", "true");
    System.exit(new CommandLine(new PickerCost()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    Path directory = Files.createDirectories(Path.of("target", "picker-cost"));
    try (EchoEngine a = new EchoEngine();
        EchoEngine b = new EchoEngine();
        Router whole = Router.start(directory, List.of(a, b), false);
        BareProcessor bare = new BareProcessor(List.of(a.port(), b.port()));
        Router early = Router.start(directory, List.of(a, b), true)) {
      Map<String, Listener> listeners = new LinkedHashMap<>();
      listeners.put("alone", new Listener(List.of(), false, "", Destination.METADATA));
      listeners.put("bare", duplex(bare.port()));
      listeners.put("picker", duplex(whole.picker()));
      listeners.put("early", duplex(early.picker()));
      try (TestEnvoy envoy = new TestEnvoy(directory, listeners, List.of(a.port(), b.port()))) {
        System.out.printf("%-36s %10s %10s %16s%n", "", "p50 ms", "p99 ms", "CPU us/request");
        if (phases.isEmpty() || phases.contains("2KB")) {
          phase("2 KB", body(2_000), 20_000, envoy, whole, early);
        }
        if (phases.isEmpty() || phases.contains("242KB")) {
          phase("242 KB", body(242_000), 1_000, envoy, whole, early);
        }
        if (phases.isEmpty() || phases.contains("events")) {
          phase(EVENTS + " events", events(), 200, envoy, whole, early);
        }
      }
    }
    return 0;
  }

  private static Listener duplex(int processor) {
    return new Listener(List.of(processor), false, "FULL_DUPLEX_STREAMED", Destination.HEADER);
  }

  /** A way of requests to the engines; the router's CPU time is shown for it. */
  private record Way(String name, int port, Router router, Histogram micros) {
    Way(String name, int port, Router router) {
      this(name, port, router, new Histogram(3));
    }
  }

  private void phase(String name, String body, int requests, TestEnvoy envoy, Router whole, Router early) {
    List<Way> ways =
        List.of(
            new Way("Envoy alone", envoy.port("alone"), whole),
            new Way("Envoy and a bare processor", envoy.port("bare"), whole),
            new Way("Envoy and picker", envoy.port("picker"), whole),
            new Way("the same, early close", envoy.port("early"), early),
            new Way("Kvasir's gateway", whole.gateway(), whole));
    try {
      double[] cpu = new double[ways.size()];
      for (int i = 0; i < cpu.length; i++) {
        Way way = ways.get(i);
        together(way.port(), body, warmUp * requests);
        Duration before = way.router().cpu();
        together(way.port(), body, requests);
        cpu[i] = way.router().cpu().minus(before).toNanos() / 1e3 / requests;
      }
      // In turns, so that whatever else the machine does meets all of them.
      for (int i = 0; i < requests / 20; i++) {
        for (Way way : ways) {
          long started = System.nanoTime();
          answered(way.port(), body);
          way.micros().recordValue((System.nanoTime() - started) / 1000);
        }
      }
      for (int i = 0; i < cpu.length; i++) {
        Histogram micros = ways.get(i).micros();
        System.out.printf(
            "%-36s %10.2f %10.2f %16.0f%n", name + ", " + ways.get(i).name(), micros.getValueAtPercentile(50) / 1e3,
            micros.getValueAtPercentile(99) / 1e3, cpu[i]);
      }
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(name, e);
    }
  }

  private static void together(int port, String body, int requests) throws InterruptedException {
    AtomicInteger next = new AtomicInteger();
    AtomicReference<@Nullable Exception> failure = new AtomicReference<>();
    List<Thread> clients =
        IntStream.range(0, CLIENTS)
            .mapToObj(_ -> Thread.ofVirtual().start(() -> {
              try {
                while (failure.get() == null && next.getAndIncrement() < requests) {
                  answered(port, body);
                }
              } catch (IOException | InterruptedException | RuntimeException e) {
                failure.compareAndSet(null, e);
              }
            }))
            .toList();
    for (Thread client : clients) {
      client.join();
    }
    if (failure.get() != null) {
      throw new IllegalStateException(failure.get());
    }
  }

  private static void answered(int port, String body) throws IOException, InterruptedException {
    HttpResponse<String> answer = post(port, body);
    if (answer.statusCode() != 200) {
      throw new IllegalStateException(answer.statusCode() + " " + answer.body());
    }
  }

  private static HttpResponse<String> post(int port, String body) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/chat/completions"))
            .header("content-type", "application/json")
            .timeout(Duration.ofSeconds(60))
            .POST(BodyPublishers.ofString(body))
            .build();
    return CLIENT.send(request, BodyHandlers.ofString());
  }

  private static String body(int bytes) {
    return "{\"model\":\"kvasir-demo\",\"messages\":[{\"role\":\"user\",\"content\":\""
        + "word ".repeat(bytes / 5) + "\"}]}";
  }

  private static String events() {
    return "{\"model\":\"kvasir-demo\",\"stream\":true,\"n\":" + EVENTS + ",\"messages\":[]}";
  }
}
