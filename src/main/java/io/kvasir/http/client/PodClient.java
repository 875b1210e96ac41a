package io.kvasir.http.client;

import io.kvasir.http.ChannelLoop;
import io.kvasir.http.Headers;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.net.URI;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP/1.1 client that talks to pods, for virtual threads, which wait for answers, and without any for {@link #get
 * short ones}. A {@link ChannelLoop} watches what is not encrypted. Connections are kept and reused per pod: first
 * those that the caller's own thread watches, and of these the one used last.
 *
 * <p>It exists because of what a router needs and general clients do not offer together: a call can be cut from
 * any thread at any moment, also before its first byte; a piece of the body is handed over as soon as it
 * arrives and costs one read; a POST that met a connection the engine had just closed is sent again; and the
 * time limits cost nothing per read, for they are checked by one thread that looks at all calls.
 *
 * <p>Thread-safe.
 */
public final class PodClient implements PodTransport, AutoCloseable {
  private final Settings settings;
  private final NanoClock clock;
  private final PodConnections connections;
  private final ShortExchanges exchanges;
  private final Set<RunningCall> calls = ConcurrentHashMap.newKeySet();
  private final Thread deadlines;

  /**
   * Limits.
   *
   * @param connectTimeout for the TCP connection, and again for the handshake with https
   * @param headTimeout from sending a request to the end of the answer's head: prefill included
   * @param idleTimeout between two pieces of an answer's body
   * @param keepAlive how long an unused connection is kept: shorter than the engines' own, which is 5 s
   *     with uvicorn
   * @param maxIdlePerPod unused connections kept for each pod
   * @param tls trust for https pods, null for the platform's own
   * @param keys the API keys of pods
   */
  public record Settings(
      Duration connectTimeout,
      Duration headTimeout,
      Duration idleTimeout,
      Duration keepAlive,
      int maxIdlePerPod,
      @Nullable SSLContext tls,
      PodKeys keys) {
    /** What suits engines: a prefill may take minutes. */
    public static Settings defaults() {
      return new Settings(
          Duration.ofSeconds(2), Duration.ofMinutes(10), Duration.ofMinutes(2), Duration.ofSeconds(4), 256, null,
          PodKeys.NONE);
    }

    /** The same with other time limits. */
    public Settings withTimeouts(Duration connect, Duration head, Duration idle) {
      return new Settings(connect, head, idle, keepAlive, maxIdlePerPod, tls, keys);
    }

    /** The same with another trust. */
    public Settings withTls(SSLContext context) {
      return new Settings(connectTimeout, headTimeout, idleTimeout, keepAlive, maxIdlePerPod, context, keys);
    }

    /** The same with other keys of pods. */
    public Settings withKeys(PodKeys others) {
      return new Settings(connectTimeout, headTimeout, idleTimeout, keepAlive, maxIdlePerPod, tls, others);
    }
  }

  /** A client with threads of its own. */
  public PodClient(Settings settings, Metrics metrics, NanoClock clock) {
    this(settings, new ClientLoop("pod-connections", ChannelLoop.defaultThreads()), metrics, clock);
  }

  /**
   * A client whose connections are watched by a loop that others have, too: whoever calls on one of its threads, or as
   * one of their {@link io.kvasir.http.ConnectionThread}s, is answered there.
   *
   * @param loop outlives the client
   */
  public PodClient(Settings settings, ChannelLoop loop, Metrics metrics, NanoClock clock) {
    this(settings, new ClientLoop(loop), metrics, clock);
  }

  private PodClient(Settings settings, ClientLoop loop, Metrics metrics, NanoClock clock) {
    this.settings = settings;
    this.clock = clock;
    this.connections =
        new PodConnections(
            settings.connectTimeout(),
            settings.tls(),
            new IdlePool<>(settings.maxIdlePerPod(), settings.keepAlive().toNanos(), CallConnection::isNear),
            loop,
            new PodMetrics(metrics),
            clock);
    this.exchanges =
        new ShortExchanges(
            connections,
            new IdlePool<>(settings.maxIdlePerPod(), settings.keepAlive().toNanos(), _ -> true),
            calls,
            clock);
    long shortest =
        Math.min(
            settings.keepAlive().toMillis(),
            Math.min(settings.headTimeout().toMillis(), settings.idleTimeout().toMillis()));
    long tick = Math.clamp(shortest / 4, 10, 250);
    long expiry = Math.max(tick, settings.keepAlive().toMillis() / 4);
    long rest = Math.min(shortest, expiry);
    this.deadlines = Thread.ofVirtual().name("pod-deadlines").start(() -> watchDeadlines(tick, rest, expiry));
  }

  /** A call with the client's own time limits; nothing is sent yet. */
  public PodCall call(PodRequest request) {
    return call(request, settings.headTimeout(), settings.idleTimeout());
  }

  @Override
  public PodCall call(PodRequest request, Duration headTimeout, Duration idleTimeout) {
    PodRequest authorized = settings.keys().authorized(request);
    return new SocketPodCall(connections, calls, clock, authorized, headTimeout.toNanos(), idleTimeout.toNanos());
  }

  /**
   * Gets a short answer, for which no thread waits unless the connection is encrypted. The time limit of an answer's
   * head is that of the whole answer.
   *
   * @param maxBytes of its body: one that is longer is not read to its end
   * @param body takes the body if the status is 200; another is read over
   * @return completes on a thread that others share, which must not be blocked; or with a {@link PodException}, or the
   *     {@link IllegalArgumentException} of {@link #call}
   */
  public CompletableFuture<ShortAnswer> get(URI pod, String target, long maxBytes, ShortAnswer.Body body) {
    PodRequest request = new PodRequest(pod, "GET", target, Headers.EMPTY, new byte[0]);
    return exchange(request, maxBytes, body, settings.headTimeout());
  }

  /**
   * Posts a JSON object that means the same if it comes twice, likewise; of the answer only the status counts.
   *
   * @param headers without the content's type
   * @param maxBytes of the answer's body
   * @param timeout of the whole answer
   */
  public CompletableFuture<ShortAnswer> post(
      URI pod, String target, Headers headers, byte[] json, long maxBytes, Duration timeout) {
    Headers typed = headers.toBuilder().add("Content-Type", "application/json").build();
    return exchange(new PodRequest(pod, "POST", target, typed, json), maxBytes, (_, _) -> {}, timeout);
  }

  private CompletableFuture<ShortAnswer> exchange(
      PodRequest plain, long maxBytes, ShortAnswer.Body body, Duration timeout) {
    PodRequest request = settings.keys().authorized(plain);
    ShortExchange exchange;
    try {
      exchange = new ShortExchange(request, maxBytes, body, timeout.toNanos());
    } catch (IllegalArgumentException e) {
      return CompletableFuture.failedFuture(e);
    }
    if (exchange.origin().secure()) {
      Thread.ofVirtual().name("pod-exchange").start(() -> exchange.await(call(request, timeout, timeout)));
      return exchange.answer();
    }
    return exchanges.begin(exchange);
  }

  /** Aborts every call and closes every connection. */
  @Override
  public void close() {
    // First, so that they fail for this reason and not as their connections close; then those that began meanwhile.
    calls.forEach(RunningCall::abort);
    connections.close();
    deadlines.interrupt();
    calls.forEach(RunningCall::abort);
    exchanges.close();
  }

  /**
   * Checks deadlines at each tick, and while there is no call as seldom as none that begins meanwhile can be late. A
   * connection that is too old is not used; how soon it is closed matters less.
   */
  private void watchDeadlines(long tickMillis, long restMillis, long expiryMillis) {
    long expiryNanos = TimeUnit.MILLISECONDS.toNanos(expiryMillis);
    try {
      long expired = clock.nanos();
      while (!connections.isClosed()) {
        Thread.sleep(calls.isEmpty() ? restMillis : tickMillis);
        long now = clock.nanos();
        for (RunningCall call : calls) {
          call.checkDeadline(now);
        }
        if (now - expired >= expiryNanos) {
          expired = now;
          connections.closeExpired(now);
          exchanges.closeExpired(now);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
