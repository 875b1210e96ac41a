package io.kvasir.gateway.forwarding;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What is known of engines that end every stream with its usage, asked or not, as vLLM does with {@code
 * --enable-force-include-usage}: their streams are not to be changed, for their clients would have had that event, too.
 * It is learnt by model, from the answers to streams that were sent as their clients wrote them: one of the first, and
 * few of the others. The last such answer counts. Thread-safe.
 */
public final class UnaskedUsage {
  /** The first stream of a model that is sent as it came, counted from 1. */
  public static final int FIRST = 16;

  /** After it, each so many. */
  static final int INTERVAL = 1024;

  private final ConcurrentHashMap<String, Streams> models = new ConcurrentHashMap<>();

  private static final class Streams {
    final AtomicInteger count = new AtomicInteger();
    volatile boolean haveUsage;
  }

  /**
   * Whether the router is to ask for the usage of a model's next stream.
   *
   * @param model as metrics have it, so that there are few
   */
  public boolean isToBeInjected(String model) {
    Streams streams = models.computeIfAbsent(model, _ -> new Streams());
    return !streams.haveUsage && Math.floorMod(streams.count.incrementAndGet(), INTERVAL) != FIRST;
  }

  /** Notes whether a stream for which nobody had asked for usage had it all the same, in an answer that was whole. */
  public void answered(String model, boolean hadUsage) {
    Streams streams = models.get(model);
    if (streams != null) {
      streams.haveUsage = hadUsage;
    }
  }
}
