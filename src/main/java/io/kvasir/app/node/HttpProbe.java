package io.kvasir.app.node;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.HealthProbe;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.engines.LoadGauge;
import io.kvasir.http.Headers;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodException.Kind;
import io.kvasir.http.client.PodKeys;
import io.kvasir.http.client.ShortAnswer;
import io.kvasir.routing.Retention;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Health probes by a pod's {@code GET /health}, and its load by the first page of {@link LoadGauge#pages} that has it:
 * all metrics are requested only where the pod does not tell its load alone. It also tells engines which sessions they
 * need not retain any more, and sends {@link #canary canaries} to those that stand still. An exchange has no thread of
 * its own and is, where the pod keeps it open, on the connection of the one before. Thread-safe. Owns its HTTP client:
 * connections for requests are others, and only those are counted in the node's metrics.
 */
public final class HttpProbe implements HealthProbe, RetentionRelease, AutoCloseable {
  /** After how long a pod whose load is not on the first page is asked for that again: its engine may be another. */
  private static final Duration LATER_PAGE = Duration.ofMinutes(10);

  private static final int MAX_PODS = 10_000;

  /** vLLM's metrics have some 100 KB. */
  private static final long MAX_METRICS_BYTES = 8 << 20;

  /** Of what a health route says, only the status counts; Dynamo's frontend lists all of its workers there. */
  private static final long MAX_HEALTH_BYTES = 64 << 10;

  /** A page of settings, with all of an engine's arguments. */
  private static final long MAX_PAGE_BYTES = 1 << 20;

  /** A probe and a poll of a pod's metrics may run at the same time. */
  private static final int IDLE_CONNECTIONS = 2;

  /** From one probe to the next, and what that may be late, but not as long as uvicorn keeps a connection (5 s). */
  private static final Duration KEEP_ALIVE = Duration.ofMillis(4_500);

  /** Releases that are under way at a time. */
  private static final int MAX_RELEASES = 16;

  /** How long a canary waits before it is sent anew, lest one be lost on the way. */
  private static final Duration CANARY = Duration.ofMinutes(2);

  private final PodClient client;
  private final Duration timeout;
  private final Semaphore releases = new Semaphore(MAX_RELEASES);

  /** The page that has a pod's load, where it is not the first. */
  private final Cache<URI, String> laterPages =
      Caffeine.newBuilder().maximumSize(MAX_PODS).expireAfterWrite(LATER_PAGE).executor(Runnable::run).build();

  /**
   * A probe.
   *
   * @param timeout for each exchange
   * @param tls for https pods, null for what the JVM trusts
   * @param keys the API keys of pods
   */
  HttpProbe(Duration timeout, @Nullable SSLContext tls, PodKeys keys) {
    this.timeout = timeout;
    this.client =
        new PodClient(
            new PodClient.Settings(
                timeout, timeout, timeout, KEEP_ALIVE, IDLE_CONNECTIONS, tls, keys),
            new Metrics(new PrometheusRegistry()),
            NanoClock.SYSTEM);
  }

  /** A pod that is only slow is unhealthy but connected: the stage fails for those alone that cannot be reached. */
  @Override
  public CompletionStage<Boolean> probe(URI pod) {
    return client.get(pod, "/health", MAX_HEALTH_BYTES, (_, _) -> {}).handle((answer, failure) -> {
      if (answer != null) {
        return answer.status() / 100 == 2;
      }
      PodException why = cause(failure);
      if (isLate(why)) {
        return false;
      }
      throw new CompletionException(why.getMessage(), why);
    });
  }

  @Override
  public CompletionStage<Map<Integer, EngineReport>> reports(URI pod) {
    String known = laterPages.getIfPresent(pod);
    if (known != null) {
      return readReports(pod, known).thenApply(reports -> {
        if (reports.isEmpty() && !known.equals(LoadGauge.pages().getLast())) {
          laterPages.invalidate(pod);
        }
        return reports;
      });
    }
    return readFirst(pod, LoadGauge.pages());
  }

  /** Of many at once, as when a cell leaves this node, some after the others. */
  @Override
  public CompletionStage<Boolean> release(URI pod, Retention retention, String program) {
    return switch (retention) {
      case NONE -> CompletableFuture.completedStage(true);
      case SGLANG -> inTurn(() -> closeSession(pod, program))
          .thenApply(answer -> answer.status() / 100 == 2);
    };
  }

  private CompletableFuture<ShortAnswer> closeSession(URI pod, String program) {
    return client.post(pod, "/close_session", Headers.EMPTY, session(program), MAX_HEALTH_BYTES, timeout);
  }

  /** An engine that serves no completions says so: then nothing is known. */
  @Override
  public CompletionStage<Boolean> canary(Worker worker) {
    ObjectNode body =
        JsonNodeFactory.instance.objectNode()
            .put("model", worker.deployment().model()).put("prompt", "a").put("max_tokens", 1);
    Headers headers = Headers.EMPTY;
    if (worker.ranks() > 1) {
      headers = Headers.builder().add("X-data-parallel-rank", Integer.toString(worker.rank())).build();
      body.put("routed_dp_rank", worker.rank());
    }
    byte[] json = body.toString().getBytes(StandardCharsets.UTF_8);
    return client.post(worker.url(), "/v1/completions", headers, json, MAX_HEALTH_BYTES, CANARY)
        .thenApply(answer -> answer.status() / 100 == 2);
  }

  private CompletableFuture<ShortAnswer> inTurn(Supplier<CompletableFuture<ShortAnswer>> exchange) {
    CompletableFuture<ShortAnswer> done = new CompletableFuture<>();
    Thread.ofVirtual().name("retention-release").start(() -> {
      releases.acquireUninterruptibly();
      var _ = exchange.get().whenComplete((answer, failure) -> {
        releases.release();
        if (answer != null) {
          done.complete(answer);
        } else {
          done.completeExceptionally(failure);
        }
      });
    });
    return done;
  }

  private static byte[] session(String id) {
    return JsonNodeFactory.instance.objectNode().put("session_id", id).toString().getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Reads a page of a pod; blocks, at most for the probe's deadline and the time of a connection.
   *
   * @return the page, empty where the pod has none at this path
   * @throws PodException when it did not answer with a page of reasonable length, or not now
   */
  byte[] page(URI pod, String path) throws PodException {
    ByteArrayOutputStream page = new ByteArrayOutputStream();
    try {
      ShortAnswer answer =
          client.get(pod, path, MAX_PAGE_BYTES, (buffer, length) -> page.write(buffer, 0, length)).join();
      requireWhole(answer, MAX_PAGE_BYTES);
      if (answer.status() / 100 == 5) {
        throw new PodException(Kind.PROTOCOL, "answered " + answer.status(), null);
      }
    } catch (CompletionException failed) {
      throw cause(failed);
    }
    return page.toByteArray();
  }

  /** The gauges of the first of some pages that has any; of the last, whatever that has. */
  private CompletionStage<Map<Integer, EngineReport>> readFirst(URI pod, List<String> pages) {
    String page = pages.getFirst();
    if (pages.size() == 1) {
      return readReports(pod, page).thenApply(reports -> {
        // Only now: one that gives no page at all may still have another.
        laterPages.put(pod, page);
        return reports;
      });
    }
    return readIfThere(pod, page).thenCompose(reports -> {
      if (reports.isEmpty()) {
        return readFirst(pod, pages.subList(1, pages.size()));
      }
      if (!page.equals(LoadGauge.pages().getFirst())) {
        laterPages.put(pod, page);
      }
      return CompletableFuture.completedStage(reports);
    });
  }

  /** The gauges of a page; none where the pod has no such page, or breaks off the exchange instead. */
  private CompletionStage<Map<Integer, EngineReport>> readIfThere(URI pod, String path) {
    return readReports(pod, path).exceptionally(failure -> {
      PodException why = cause(failure);
      return switch (why.kind()) {
        case RESET, TRUNCATED, PROTOCOL -> Map.of();
        case CONNECT, UNSENT, HEAD_TIMEOUT, IDLE_TIMEOUT, ABORTED ->
            throw new CompletionException(why.getMessage(), why);
      };
    });
  }

  private CompletionStage<Map<Integer, EngineReport>> readReports(URI pod, String path) {
    EngineMetricsParser parser = new EngineMetricsParser();
    return client.get(pod, path, MAX_METRICS_BYTES, parser::accept).handle((answer, failure) -> {
      try {
        if (answer == null) {
          throw cause(failure);
        }
        requireWhole(answer, MAX_METRICS_BYTES);
        return parser.finish();
      } catch (PodException why) {
        throw new CompletionException(why.getMessage(), why);
      }
    });
  }

  private static void requireWhole(ShortAnswer answer, long limit) throws PodException {
    if (!answer.whole()) {
      throw new PodException(Kind.PROTOCOL, "answered with more than " + limit + " bytes", null);
    }
  }

  /** Why an exchange failed, which is an exception of the client unless the client itself failed. */
  private static PodException cause(Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    return cause instanceof PodException known
        ? known
        : new PodException(Kind.PROTOCOL, "could not be read: " + cause, cause);
  }

  private static boolean isLate(PodException failed) {
    return switch (failed.kind()) {
      case HEAD_TIMEOUT, IDLE_TIMEOUT -> true;
      case CONNECT -> failed.getCause() instanceof SocketTimeoutException;
      case UNSENT, RESET, TRUNCATED, PROTOCOL, ABORTED -> false;
    };
  }

  @Override
  public void close() {
    client.close();
  }
}
