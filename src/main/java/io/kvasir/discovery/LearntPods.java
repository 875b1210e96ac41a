package io.kvasir.discovery;

import io.kvasir.engines.EngineAddress;
import io.kvasir.engines.EngineIdentity;
import io.kvasir.telemetry.RedactedException;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What engines tell of their pods. Each is asked on a thread of its own until it answers, and then again and again: an
 * adapter may be loaded, or another version started behind the same address. Thread-safe.
 */
final class LearntPods implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LearntPods.class);
  private static final Duration MIN_PAUSE = Duration.ofSeconds(1);
  private static final Duration MAX_PAUSE = Duration.ofSeconds(30);

  private final PodLearner learner;
  private final Duration interval;
  private final Runnable listener;
  private final Map<EngineAddress, Engine> engines = new HashMap<>();

  /**
   * Knows nothing yet.
   *
   * @param interval about as long an engine that has answered is left alone; a quarter more or less at random
   * @param listener is run when an engine has told something new, or has failed to answer for the first time
   */
  LearntPods(PodLearner learner, Duration interval, Runnable listener) {
    this.learner = learner;
    this.interval = interval;
    this.listener = listener;
  }

  /** What an engine told last, null until it has answered; one that is not known yet is asked at once. */
  synchronized @Nullable LearntPod of(EngineAddress address) {
    return engines.computeIfAbsent(address, engine -> new Engine(engine, Duration.ZERO)).pod;
  }

  /** The same of an engine that has been asked elsewhere just now: one that is not known yet is asked some time. */
  synchronized @Nullable LearntPod laterOf(EngineAddress address) {
    return engines.computeIfAbsent(address, engine -> new Engine(engine, pause())).pod;
  }

  /** What an engine told last, null until it has answered. */
  synchronized @Nullable LearntPod known(EngineAddress address) {
    Engine engine = engines.get(address);
    return engine == null ? null : engine.pod;
  }

  /** Why an engine has not told anything. */
  synchronized Optional<String> failure(EngineAddress address) {
    Engine engine = engines.get(address);
    return engine == null || engine.pod != null ? Optional.empty() : Optional.ofNullable(engine.failure);
  }

  /** Asks an engine again at once, and for all: it may be another. */
  synchronized void refresh(EngineAddress address) {
    Engine engine = engines.get(address);
    if (engine != null) {
      engine.anew = true;
      engine.due.release();
    }
  }

  /** Forgets an engine. */
  private synchronized void forget(EngineAddress address) {
    Engine engine = engines.remove(address);
    if (engine != null) {
      engine.thread.interrupt();
    }
  }

  /** Forgets all but these. */
  synchronized void retain(Collection<EngineAddress> addresses) {
    Set<EngineAddress> retained = Set.copyOf(addresses);
    List.copyOf(engines.keySet()).stream().filter(address -> !retained.contains(address)).forEach(this::forget);
  }

  @Override
  public void close() {
    retain(List.of());
  }

  private Duration pause() {
    return Duration.ofMillis((long) (interval.toMillis() * ThreadLocalRandom.current().nextDouble(0.75, 1.25)));
  }

  /** An engine that is asked. */
  private final class Engine {
    private final EngineAddress address;
    private final Thread thread;
    private final Semaphore due = new Semaphore(0);
    // The thread's.
    private boolean unheard;
    // Guarded by LearntPods.this.
    private @Nullable LearntPod pod;
    private @Nullable String failure;
    /** Whether it may be another than it was. */
    private boolean anew = true;

    Engine(EngineAddress address, Duration first) {
      this.address = address;
      this.thread = Thread.ofVirtual().name("kvasir-learns-" + address).start(() -> run(first));
    }

    private void run(Duration first) {
      try {
        Duration pause = MIN_PAUSE;
        await(first);
        while (true) {
          if (inquire()) {
            pause = MIN_PAUSE;
            await(pause());
          } else {
            await(pause);
            pause = pause.multipliedBy(2).compareTo(MAX_PAUSE) < 0 ? pause.multipliedBy(2) : MAX_PAUSE;
          }
        }
      } catch (InterruptedException forgotten) {
        LOG.debug("{} is forgotten", address);
      }
    }

    private void await(Duration pause) throws InterruptedException {
      if (due.tryAcquire(pause.toMillis(), TimeUnit.MILLISECONDS)) {
        due.drainPermits();
      }
    }

    /** What it is asked again as, null for whatever it may be. */
    private @Nullable EngineIdentity known() {
      synchronized (LearntPods.this) {
        EngineIdentity known = anew || pod == null ? null : pod.engine();
        anew = false;
        return known;
      }
    }

    private boolean inquire() throws InterruptedException {
      LearntPod found = null;
      String reason = null;
      try {
        found = learner.learn(address, known());
      } catch (IOException silent) {
        reason = String.valueOf(silent.getMessage());
      } catch (RuntimeException | StackOverflowError unreadable) {
        // Whatever an engine answers: another time it may answer something else.
        LOG.warn("what the engine at {} tells of itself cannot be read", address, RedactedException.of(unreadable));
        reason = "what its engine tells of itself cannot be read: " + unreadable;
      }
      boolean changed;
      synchronized (LearntPods.this) {
        if (!this.equals(engines.get(address))) {
          throw new InterruptedException("forgotten");
        }
        found = found == null || pod == null ? found : found.after(pod);
        changed = unheard || (found == null ? pod == null && failure == null : !found.equals(pod));
        pod = found == null ? pod : found;
        failure = reason;
        anew |= found == null;
      }
      return (!changed || notifyListener()) && found != null;
    }

    /** Runs the listener; false when that has failed, so that it has to hear the same again. */
    private boolean notifyListener() {
      try {
        listener.run();
        unheard = false;
      } catch (RuntimeException busy) {
        // The directory does not answer in time, as when the node is leaving.
        LOG.warn("what the engine at {} tells of itself could not be passed on: {}", address, busy.getMessage());
        unheard = true;
      }
      return !unheard;
    }
  }
}
