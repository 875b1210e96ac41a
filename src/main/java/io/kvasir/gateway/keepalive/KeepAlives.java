package io.kvasir.gateway.keepalive;

import io.kvasir.gateway.error.ErrorFormat;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import io.kvasir.telemetry.RedactedException;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps proxies from cutting streams that are silent for long: one thread checks all of them, a few times within the
 * silence that is allowed, and has a keep-alive written to those that exceed it. A request costs an entry in a set, an
 * event a number. Thread-safe.
 */
public final class KeepAlives implements AutoCloseable {
  /** Checks within the allowed silence, which may therefore last longer by one of them. */
  private static final int CHECKS = 5;

  private static final Logger LOG = LoggerFactory.getLogger(KeepAlives.class);

  private final Set<KeepAlive> watched = ConcurrentHashMap.newKeySet();
  private final @Nullable Duration silence;
  private final KeepAlive.Listener listener;
  private final NanoClock clock;
  private final @Nullable Thread checker;

  /**
   * Starts to watch streams.
   *
   * @param silence after which a keep-alive is written; null never
   */
  public KeepAlives(@Nullable Duration silence, KeepAlive.Listener listener, NanoClock clock) {
    this.silence = silence;
    this.listener = listener;
    this.clock = clock;
    this.checker = silence == null
        ? null
        : Thread.ofVirtual().name("kvasir-keep-alives").start(() -> check(silence.dividedBy(CHECKS)));
  }

  /**
   * Watches a request's stream until the answer is over; null when keep-alives are off.
   *
   * @param head headers of an answer that begins before the worker's
   */
  public @Nullable KeepAlive watch(Exchange exchange, ErrorFormat format, Headers head) {
    if (silence == null) {
      return null;
    }
    KeepAlive begun =
        new KeepAlive(exchange, format, head, silence, clock, Thread::startVirtualThread, watched::remove, listener);
    watched.add(begun);
    return begun;
  }

  @Override
  public void close() {
    if (checker != null) {
      checker.interrupt();
    }
  }

  private void check(Duration pause) {
    try {
      while (true) {
        Thread.sleep(pause);
        long now = clock.nanos();
        for (KeepAlive stream : watched) {
          check(stream, now);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** One stream's failure is not the others'. */
  private static void check(KeepAlive stream, long now) {
    try {
      stream.check(now);
    } catch (RuntimeException failed) {
      LOG.error("a stream could not be kept alive", RedactedException.of(failed));
    }
  }
}
