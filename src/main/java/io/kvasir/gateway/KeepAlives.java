package io.kvasir.gateway;

import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Keeps streams that say nothing for long from being cut by proxies on their way: looks at all of them from one
 * thread, a few times within the silence that is allowed, and has those that were silent say something. A request
 * costs an entry in a set, an event a number. Thread-safe.
 */
final class KeepAlives implements AutoCloseable {
  /** So often within the allowed silence; it may last longer by one look. */
  private static final int CHECKS = 5;

  private final Set<KeepAlive> watched = ConcurrentHashMap.newKeySet();
  private final GatewayMetrics metrics;
  private final @Nullable Thread checker;

  /**
   * Watches streams from now on.
   *
   * @param silence after which a stream says something; null never
   */
  KeepAlives(@Nullable Duration silence, GatewayMetrics metrics) {
    this.metrics = metrics;
    this.checker = silence == null
        ? null
        : Thread.ofVirtual().name("kvasir-keep-alives").start(() -> look(silence.dividedBy(CHECKS)));
  }

  /**
   * Watches a request's stream until the answer is over; null when nobody is to.
   *
   * @param head headers of an answer that begins before the worker's is here
   */
  @Nullable KeepAlive watch(Exchange exchange, ErrorFormat shape, Headers head) {
    if (checker == null) {
      return null;
    }
    KeepAlive begun = new KeepAlive(exchange, shape, head, CHECKS, watched::remove, metrics);
    watched.add(begun);
    return begun;
  }

  /** Looks no more. */
  @Override
  public void close() {
    if (checker != null) {
      checker.interrupt();
    }
  }

  private void look(Duration pause) {
    try {
      while (true) {
        Thread.sleep(pause);
        watched.forEach(KeepAlive::check);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
