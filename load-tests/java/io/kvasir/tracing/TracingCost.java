package io.kvasir.tracing;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import com.sun.net.httpserver.HttpServer;
import io.kvasir.http.Headers;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.TracedRequest.Arrival;
import io.kvasir.tracing.TracedRequest.Contents;
import io.kvasir.tracing.TracedRequest.End;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * What traces cost a request: the processor time of the whole process, in which the spans are built, compressed, sent
 * and received, and what the request's own thread allocates. All of it beside the same loop without traces.
 *
 * <pre>
 * load-tests/with-jdk -Xmx1g io.kvasir.tracing.TracingCost
 * </pre>
 */
public final class TracingCost {
  private static final int REQUESTS = 300_000;
  private static final int ROUND = 1_000;
  private static final URI POD = URI.create("http://10.0.0.5:8000");
  private static final Headers HEADERS =
      Headers.of("Host", "router", "Content-Type", "application/json", "User-Agent", "bench", "Content-Length", "900");

  private static final OperatingSystemMXBean SYSTEM =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private static final CompilationMXBean COMPILER = ManagementFactory.getCompilationMXBean();
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private TracingCost() {}

  /** Prints a line for each share of requests that is traced. */
  public static void main(String[] arguments) throws IOException, TracingException, InterruptedException {
    HttpServer collector = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    collector.createContext("/", exchange -> {
      exchange.getRequestBody().readAllBytes();
      exchange.sendResponseHeaders(200, -1);
      exchange.close();
    });
    collector.start();
    String url = "http://127.0.0.1:" + collector.getAddress().getPort();
    measure(tracing(url, 1));
    measure(tracing(url, 0.1));
    Cost off = measure(Tracing.OFF);
    System.out.printf("off: %s%n", new Cost(0, off.bytes()));
    for (double sample : new double[] {0, 0.1, 0.1, 1}) {
      Cost cost = measure(tracing(url, sample));
      System.out.printf("%.0f %% sampled: %s%n", 100 * sample, new Cost(cost.nanos() - off.nanos(), cost.bytes()));
    }
    collector.stop(0);
  }

  /** The cost of a request. */
  private record Cost(double nanos, double bytes) {
    @Override
    public String toString() {
      return "%.2f µs of processor time, %.0f bytes".formatted(nanos / 1e3, bytes);
    }
  }

  private static Tracing tracing(String url, double sample) throws TracingException {
    return Tracing.start(
        new TracingSettings(url, "kvasir", sample, Set.of(TracingSettings.Rule.values()), Duration.ofSeconds(10)),
        Map.of("OTEL_BSP_MAX_QUEUE_SIZE", "10000000"), "node", new Metrics(new PrometheusRegistry()),
        NanoClock.SYSTEM, InstantSource.system());
  }

  private static Cost measure(Tracing tracing) throws InterruptedException {
    for (int i = 0; i < REQUESTS; i += ROUND) {
      round(tracing);
    }
    long cpu = cpuNanos();
    long bytes = 0;
    for (int i = 0; i < REQUESTS; i += ROUND) {
      long before = THREADS.getCurrentThreadAllocatedBytes();
      round(tracing);
      bytes += THREADS.getCurrentThreadAllocatedBytes() - before;
      // So that batches are sent as they would be.
      Thread.sleep(1);
    }
    tracing.close();
    return new Cost((cpuNanos() - cpu) / (double) REQUESTS, bytes / (double) REQUESTS);
  }

  /** Processor time of the process without that of its compiler, which a router has paid long before. */
  private static long cpuNanos() {
    return SYSTEM.getProcessCpuTime() - TimeUnit.MILLISECONDS.toNanos(COMPILER.getTotalCompilationTime());
  }

  private static void round(Tracing tracing) {
    for (int i = 0; i < ROUND; i++) {
      if (tracing.isOn()) {
        request(tracing);
      }
    }
  }

  /** What gateway and execution note of a request with one leg. */
  private static void request(Tracing tracing) {
    TracedRequest request =
        tracing.begin(
            HEADERS,
            new Arrival(
                "POST", "/v1/chat/completions", "/v1/chat/completions", InetAddress.getLoopbackAddress(),
                "0123456789abcdef", "chat", "openai"));
    if (request == null) {
      return;
    }
    request.admitted(System.nanoTime());
    SamplingParameters parameters =
        new SamplingParameters(100, 1, SamplingParameters.NONE, 0.7, 0.9, Double.NaN, Double.NaN, Double.NaN);
    request.read(new Contents("qwen3", "blue", 900, true, parameters), System.nanoTime());
    request.prepared(new TracedRequest.Prompt("exact", 220, 90_000, 150_000), System.nanoTime());
    long decided = System.nanoTime();
    request.decided(
        new TracedDecision(
            decided, System.nanoTime(), "expected-cost", "vllm-0", "expected-cost; depth=7/8; cached=112/132",
            new TracedDecision.Tokens(220, 112, 112), new TracedDecision.Origin("local", "qwen3-0", null)));
    TracedLeg leg =
        request.leg(TracedLeg.SERVE, new TracedLeg.Target("vllm-0", POD, 112), 1, System.nanoTime());
    if (leg.context().header().isEmpty()) {
      throw new AssertionError();
    }
    leg.responded(200);
    leg.firstToken(System.nanoTime());
    request.firstToken(System.nanoTime());
    leg.identified("chatcmpl-1");
    leg.ended(new TracedLeg.Tokens(220, 112, 64), null, System.nanoTime());
    boolean _ = tracing.ended(request, new End(200, null, false, System.nanoTime()));
  }
}
