package io.kvasir.lmcache;

import io.kvasir.lmcache.Instances.Instance;
import io.kvasir.lmcache.WorkerMap.Mismatches;
import io.kvasir.routing.CacheLayer.KeyCounts;
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
 * Asks the controller, or the coordinator, for the instances that it knows: once at the start, so that the operator
 * hears what does not fit, and then while somebody wants to know, at intervals that differ by a fifth so that many
 * routers do not ask as one. Owns its thread.
 */
final class Poller implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Poller.class);

  /** Whoever asked for figures is taken to go on asking for so many intervals. */
  private static final int WANTED_INTERVALS = 6;

  private static final double JITTER = 0.2;

  private final InstanceSource list;
  private final LmCacheSettings settings;
  private final WorkerMap map;
  private final Supplier<Set<String>> fleet;
  private final BooleanSupplier chosen;
  private final PollListener listener;
  private final Instances instances;
  private final long wantedNanos;
  private final long restNanos;
  private final Thread thread;
  private Set<String> reported = Set.of();
  private volatile PollSnapshot snapshot = PollSnapshot.START;
  private volatile KeyCounts keys = KeyCounts.UNKNOWN;
  private volatile long requestedNanos;
  private volatile boolean asleep;

  /** Hears of every poll. */
  @FunctionalInterface
  interface PollListener {
    void onPoll(boolean answered);
  }

  /**
   * What is known.
   *
   * @param instances by id, as of the last answer
   * @param mismatches what did not fit then
   * @param answeredNanos when the last answer came; meaningless before there was one
   * @param answers how many there were
   * @param failure why the last poll failed, null when it did not
   */
  record PollSnapshot(
      SequencedMap<String, Instance> instances,
      Mismatches mismatches,
      long answeredNanos,
      long answers,
      @Nullable String failure) {
    static final PollSnapshot START = new PollSnapshot(new TreeMap<>(), Mismatches.NONE, 0, 0, null);

    /** How long ago the last answer came; empty before there was one. */
    Optional<Duration> age() {
      return answers == 0 ? Optional.empty() : Optional.of(Duration.ofNanos(System.nanoTime() - answeredNanos));
    }
  }

  /**
   * Begins to poll.
   *
   * @param fleet ids of all workers; may take a moment
   * @param chosen whether requests that choose nothing themselves go by a profile that looks at the figures
   */
  Poller(
      InstanceSource list,
      LmCacheSettings settings,
      WorkerMap map,
      Supplier<Set<String>> fleet,
      BooleanSupplier chosen,
      PollListener polled) {
    this.list = list;
    this.settings = settings;
    this.map = map;
    this.fleet = fleet;
    this.chosen = chosen;
    this.listener = polled;
    this.instances = new Instances(settings.staleAfter().toNanos());
    this.wantedNanos = settings.pollInterval().multipliedBy(WANTED_INTERVALS).toNanos();
    this.restNanos = Math.min(Duration.ofSeconds(1).toNanos(), settings.pollInterval().toNanos());
    this.requestedNanos = System.nanoTime() - wantedNanos;
    this.thread = Thread.ofVirtual().name("kvasir-lmcache-" + list.name()).start(this::run);
  }

  /** Keys by worker, as last heard; asking keeps the poller at it. */
  KeyCounts keys() {
    long now = System.nanoTime();
    // Not with every decision: all threads would write the same place in memory.
    if (now - requestedNanos > restNanos) {
      requestedNanos = now;
      if (asleep) {
        LockSupport.unpark(thread);
      }
    }
    return keys;
  }

  PollSnapshot snapshot() {
    return snapshot;
  }

  private void run() {
    boolean first = true;
    while (!Thread.interrupted()) {
      if (first || wanted()) {
        first = false;
        poll();
        rest();
      } else {
        asleep = true;
        // Whoever asked before this thread was asleep did not wake it.
        if (!wanted()) {
          LockSupport.parkNanos(this, settings.pollInterval().toNanos());
        }
        asleep = false;
      }
    }
  }

  private boolean wanted() {
    return System.nanoTime() - requestedNanos < wantedNanos || chosen.getAsBoolean();
  }

  private void rest() {
    double jitter = 1 + JITTER * (2 * ThreadLocalRandom.current().nextDouble() - 1);
    try {
      Thread.sleep(Duration.ofNanos((long) (settings.pollInterval().toNanos() * jitter)));
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private void poll() {
    PollSnapshot before = snapshot;
    try {
      SequencedMap<String, Instance> found = instances.of(list.workers(), System.nanoTime());
      listener.onPoll(true);
      long now = System.nanoTime();
      keys = new KeyCounts(map.keys(found.values()), now + settings.staleAfter().toNanos(), keys.version() + 1);
      if (before.failure != null) {
        LOG.info("the LMCache {} {} answers again", list.name(), list.address());
      }
      Mismatches misfits = map.mismatches(found.values(), fleet.get(), list.name());
      snapshot = new PollSnapshot(found, misfits, now, before.answers + 1, null);
      tell(misfits.messages());
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    } catch (IOException | RuntimeException failed) {
      if (Thread.currentThread().isInterrupted()) {
        return;
      }
      listener.onPoll(false);
      String why = String.valueOf(failed.getMessage() == null ? failed : failed.getMessage());
      if (before.failure == null) {
        LOG.warn("the LMCache {} {} does not say whom it knows: {}", list.name(), list.address(), why);
      }
      snapshot = new PollSnapshot(before.instances, before.mismatches, before.answeredNanos, before.answers, why);
    }
  }

  /** Warns of what was not there at the last poll. */
  private void tell(List<String> sentences) {
    for (String sentence : sentences) {
      if (!reported.contains(sentence)) {
        LOG.warn("{}", sentence);
      }
    }
    reported = new HashSet<>(sentences);
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
