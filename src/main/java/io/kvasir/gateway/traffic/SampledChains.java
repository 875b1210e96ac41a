package io.kvasir.gateway.traffic;

import io.kvasir.index.Chain;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A sample of the chains of prompts that came through this gateway: hashes, never text. The first
 * {@value #PER_SECOND} of each second are kept, of each {@value #BLOCKS} blocks at most; a request beyond those costs
 * one look at the clock. Thread-safe.
 */
public final class SampledChains {
  /** Chains that are kept of one second. */
  static final int PER_SECOND = 10;

  /** Leading blocks that are kept of a chain. */
  static final int BLOCKS = 256;

  /** Chains that are kept: those of five minutes at least, and 6 MB of hashes at most. */
  static final int CAPACITY = 3000;

  private final InstantSource time;
  private final Deque<Sample> samples = new ArrayDeque<>();
  private long second;
  private int taken;

  /** The second of which no more are kept. */
  private volatile long fullSecond = -1;

  /**
   * A chain as it was seen.
   *
   * @param model as the request named it
   * @param tenant the caller's, null for callers without one
   * @param chain its leading blocks
   * @param timeMillis when, milliseconds since the epoch
   */
  public record Sample(String model, @Nullable String tenant, Chain chain, long timeMillis) {}

  /** Without samples. */
  public SampledChains(InstantSource time) {
    this.time = time;
  }

  /**
   * Keeps a chain, unless enough of this second are kept or it has no block.
   *
   * @param tenant empty for callers without one
   */
  public void offer(String model, String tenant, Chain chain) {
    if (chain.length() > 0) {
      long now = time.millis();
      if (TimeUnit.MILLISECONDS.toSeconds(now) != fullSecond) {
        add(model, tenant, chain, now);
      }
    }
  }

  private synchronized void add(String model, String tenant, Chain chain, long now) {
    long current = TimeUnit.MILLISECONDS.toSeconds(now);
    if (second != current) {
      second = current;
      taken = 0;
    }
    if (taken < PER_SECOND) {
      taken++;
      if (samples.size() == CAPACITY) {
        samples.removeFirst();
      }
      Chain beginning = chain.first(Math.min(chain.length(), BLOCKS));
      samples.addLast(new Sample(model, tenant.isEmpty() ? null : tenant, beginning, now));
    }
    if (taken == PER_SECOND) {
      fullSecond = current;
    }
  }

  /** The samples of requests for a model, the latest last. */
  public synchronized List<Sample> of(String model) {
    return samples.stream().filter(sample -> sample.model().equals(model)).toList();
  }
}
