package io.kvasir.lmcache;

import io.kvasir.lmcache.Instances.Instance;
import io.kvasir.lmcache.WorkerMap.Mismatches;
import io.kvasir.routing.CacheLayer.KeyCounts;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Polls the controller, or the coordinator, for its instances: once at the start, so that mismatches with the
 * configuration are reported, and then while requests use the service, at intervals with a jitter of a fifth so that
 * many routers do not poll at once. Thread-safe. Owns its thread.
 */
final class Poller implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Poller.class);

  /** Polling goes on for so many intervals after the last use. */
  private static final int USE_INTERVALS = 6;

  private static final double JITTER = 0.2;

  private final InstanceSource source;
  private final LmCacheSettings settings;
  private final WorkerMap map;
  private final Supplier<Set<String>> fleet;
  private final BooleanSupplier inUse;
  private final PollListener listener;
  private final Instances instances;
  private final NanoClock clock;
  private final long useNanos;
  private final long useResolutionNanos;
  private final Thread thread;
  private Set<String> reported = Set.of();
  private volatile PollSnapshot snapshot = PollSnapshot.START;
  private volatile KeyCounts keys = KeyCounts.UNKNOWN;
  private volatile long usedNanos;
  private volatile boolean asleep;

  /** Receives the outcome of every poll. */
  @FunctionalInterface
  interface PollListener {
    void onPoll(boolean answered);
  }

  /**
   * The state after a poll.
   *
   * @param instances by id, as of the last successful poll
   * @param mismatches with the configuration then
   * @param answeredNanos time of the last successful poll; meaningless before there was one
   * @param answers successful polls so far
   * @param failure why the latest poll failed, null when it did not
   */
  record PollSnapshot(
      SequencedMap<String, Instance> instances,
      Mismatches mismatches,
      long answeredNanos,
      long answers,
      @Nullable String failure) {
    static final PollSnapshot START = new PollSnapshot(new TreeMap<>(), Mismatches.NONE, 0, 0, null);

    /** Time since the last successful poll; empty before there was one. */
    Optional<Duration> age(NanoClock clock) {
      return answers == 0 ? Optional.empty() : Optional.of(Duration.ofNanos(clock.nanos() - answeredNanos));
    }
  }

  /**
   * Starts polling.
   *
   * @param fleet ids of all workers; may wait a moment
   * @param inUse whether requests use the service that choose no profile
   */
  Poller(
      InstanceSource source,
      LmCacheSettings settings,
      WorkerMap map,
      Supplier<Set<String>> fleet,
      BooleanSupplier inUse,
      PollListener listener,
      NanoClock clock) {
    this.source = source;
    this.settings = settings;
    this.map = map;
    this.fleet = fleet;
    this.inUse = inUse;
    this.listener = listener;
    this.clock = clock;
    this.instances = new Instances(settings.polls().staleAfter().toNanos());
    this.useNanos = settings.polls().interval().multipliedBy(USE_INTERVALS).toNanos();
    this.useResolutionNanos = Math.min(Duration.ofSeconds(1).toNanos(), settings.polls().interval().toNanos());
    this.usedNanos = clock.nanos() - useNanos;
    this.thread = Thread.ofVirtual().name("kvasir-lmcache-" + source.name()).start(this::run);
  }

  /** Keys by worker, as of the last successful poll. The call counts as a use, which keeps polling going. */
  KeyCounts keys() {
    noteUse();
    return keys;
  }

  /** Notes that a request uses the service, which keeps polling going. */
  void noteUse() {
    long now = clock.nanos();
    // Not with every decision: all threads would write the same cache line.
    if (now - usedNanos > useResolutionNanos) {
      usedNanos = now;
      if (asleep) {
        LockSupport.unpark(thread);
      }
    }
  }

  PollSnapshot snapshot() {
    return snapshot;
  }

  private void run() {
    boolean first = true;
    while (!Thread.interrupted()) {
      if (first || isUsed()) {
        first = false;
        poll();
        pause();
      } else {
        asleep = true;
        // A use before the flag was set has not woken this thread.
        if (!isUsed()) {
          LockSupport.parkNanos(this, settings.polls().interval().toNanos());
        }
        asleep = false;
      }
    }
  }

  private boolean isUsed() {
    return clock.nanos() - usedNanos < useNanos || inUse.getAsBoolean();
  }

  private void pause() {
    double jitter = 1 + JITTER * (2 * ThreadLocalRandom.current().nextDouble() - 1);
    try {
      Thread.sleep(Duration.ofNanos((long) (settings.polls().interval().toNanos() * jitter)));
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private void poll() {
    PollSnapshot before = snapshot;
    try {
      SequencedMap<String, Instance> found = instances.of(source.workers(), clock.nanos());
      listener.onPoll(true);
      long now = clock.nanos();
      keys = new KeyCounts(map.keys(found.values()), now + settings.polls().staleAfter().toNanos(), keys.version() + 1);
      if (before.failure != null) {
        LOG.info("the LMCache {} {} answers again", source.name(), source.address());
      }
      Mismatches mismatches = map.mismatches(found.values(), fleet.get(), source.name());
      snapshot = new PollSnapshot(found, mismatches, now, before.answers + 1, null);
      report(mismatches.messages());
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    } catch (IOException | RuntimeException failed) {
      if (Thread.currentThread().isInterrupted()) {
        return;
      }
      listener.onPoll(false);
      String why = String.valueOf(failed.getMessage() == null ? failed : failed.getMessage());
      if (before.failure == null) {
        LOG.warn("the LMCache {} {} does not list its instances: {}", source.name(), source.address(), why);
      }
      snapshot = new PollSnapshot(before.instances, before.mismatches, before.answeredNanos, before.answers, why);
    }
  }

  /** Logs the mismatches that the previous poll did not have. */
  private void report(List<String> messages) {
    for (String message : messages) {
      if (!reported.contains(message)) {
        LOG.warn("{}", message);
      }
    }
    reported = new HashSet<>(messages);
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
