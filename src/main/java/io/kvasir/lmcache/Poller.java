package io.kvasir.lmcache;

import io.kvasir.lmcache.Instances.Instance;
import io.kvasir.lmcache.WorkerMap.Misfits;
import io.kvasir.routing.CacheLayer.Keys;
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

  private final InstanceList list;
  private final LmCacheSettings settings;
  private final WorkerMap map;
  private final Supplier<Set<String>> fleet;
  private final BooleanSupplier chosen;
  private final Polled polled;
  private final Instances instances;
  private final long wantedNanos;
  private final long restNanos;
  private final Thread thread;
  private Set<String> told = Set.of();
  private volatile State state = State.START;
  private volatile Keys keys = Keys.UNKNOWN;
  private volatile long askedNanos;
  private volatile boolean asleep;

  /** Hears of every poll. */
  @FunctionalInterface
  interface Polled {
    void count(boolean answered);
  }

  /**
   * What is known.
   *
   * @param instances by id, as of the last answer
   * @param misfits what did not fit then
   * @param answeredNanos when the last answer came; meaningless before there was one
   * @param answers how many there were
   * @param failure why the last poll failed, null when it did not
   */
  record State(
      SequencedMap<String, Instance> instances,
      Misfits misfits,
      long answeredNanos,
      long answers,
      @Nullable String failure) {
    static final State START = new State(new TreeMap<>(), Misfits.NONE, 0, 0, null);

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
      InstanceList list,
      LmCacheSettings settings,
      WorkerMap map,
      Supplier<Set<String>> fleet,
      BooleanSupplier chosen,
      Polled polled) {
    this.list = list;
    this.settings = settings;
    this.map = map;
    this.fleet = fleet;
    this.chosen = chosen;
    this.polled = polled;
    this.instances = new Instances(settings.staleAfter().toNanos());
    this.wantedNanos = settings.pollInterval().multipliedBy(WANTED_INTERVALS).toNanos();
    this.restNanos = Math.min(Duration.ofSeconds(1).toNanos(), settings.pollInterval().toNanos());
    this.askedNanos = System.nanoTime() - wantedNanos;
    this.thread = Thread.ofVirtual().name("kvasir-lmcache-" + list.name()).start(this::run);
  }

  /** Keys by worker, as last heard; asking keeps the poller at it. */
  Keys keys() {
    long now = System.nanoTime();
    // Not with every decision: all threads would write the same place in memory.
    if (now - askedNanos > restNanos) {
      askedNanos = now;
      if (asleep) {
        LockSupport.unpark(thread);
      }
    }
    return keys;
  }

  State state() {
    return state;
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
    return System.nanoTime() - askedNanos < wantedNanos || chosen.getAsBoolean();
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
    State before = state;
    try {
      SequencedMap<String, Instance> found = instances.of(list.workers(), System.nanoTime());
      polled.count(true);
      long now = System.nanoTime();
      keys = new Keys(map.keys(found.values()), now + settings.staleAfter().toNanos(), keys.version() + 1);
      if (before.failure != null) {
        LOG.info("the LMCache {} {} answers again", list.name(), list.address());
      }
      Misfits misfits = map.misfits(found.values(), fleet.get(), list.name());
      state = new State(found, misfits, now, before.answers + 1, null);
      tell(misfits.sentences());
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    } catch (IOException | RuntimeException failed) {
      if (Thread.currentThread().isInterrupted()) {
        return;
      }
      polled.count(false);
      String why = String.valueOf(failed.getMessage() == null ? failed : failed.getMessage());
      if (before.failure == null) {
        LOG.warn("the LMCache {} {} does not say whom it knows: {}", list.name(), list.address(), why);
      }
      state = new State(before.instances, before.misfits, before.answeredNanos, before.answers, why);
    }
  }

  /** Warns of what was not there at the last poll. */
  private void tell(List<String> sentences) {
    for (String sentence : sentences) {
      if (!told.contains(sentence)) {
        LOG.warn("{}", sentence);
      }
    }
    told = new HashSet<>(sentences);
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
