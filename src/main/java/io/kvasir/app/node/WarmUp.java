package io.kvasir.app.node;

import io.kvasir.app.config.KvasirConfig.WarmUpConfig;
import io.kvasir.telemetry.Problem;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The warm-up of a node, an obstacle to its readiness: a workload that makes the JVM compile what requests need before
 * a client waits for it. Over when the workload ends, fails or has taken as long as it may, whatever it is doing then;
 * what it has opened is closed afterwards. Thread-safe.
 */
final class WarmUp implements AutoCloseable {
  /** No warm-up. */
  static final WarmUp NONE = new WarmUp(new WarmUpConfig(false, Duration.ZERO));

  /** What the names of the workload's threads begin with. */
  static final String NAME = "kvasir-warm-up";

  private static final Logger LOG = LoggerFactory.getLogger(WarmUp.class);

  /** How long the end of the node waits for that of the workload, at most. */
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

  private final WarmUpConfig settings;
  private final CompletableFuture<Void> over = new CompletableFuture<>();
  private volatile @Nullable Thread begun;

  /** What is done meanwhile, on a thread of its own, which is interrupted when the warm-up is over. */
  @FunctionalInterface
  interface Workload {
    /**
     * Runs until it is done or interrupted.
     *
     * @param resources takes what is to be closed when the warm-up is over
     * @param limit no need to run longer than this
     */
    void run(Resources resources, Duration limit) throws Exception;
  }

  /** A warm-up that has not begun; one that is not enabled is over. */
  WarmUp(WarmUpConfig settings) {
    this.settings = settings;
    if (!settings.enabled()) {
      over.complete(null);
    }
  }

  /** Why the node is not ready yet; empty when the warm-up is over. */
  Optional<Problem> obstacle() {
    return over.isDone()
        ? Optional.empty()
        : Optional.of(Problem.error(
            "the node is warming up", "wait: it takes at most kvasir.warm-up.limit, and can be switched off there"));
  }

  /** Begins, unless it is over; does not wait for the end. At most once. */
  void begin(Workload workload) {
    if (over.isDone()) {
      return;
    }
    Thread worker = Thread.ofPlatform().daemon().name(NAME).unstarted(() -> run(workload));
    var _ = over.completeOnTimeout(null, settings.limit().toNanos(), TimeUnit.NANOSECONDS);
    worker.start();
    begun = worker;
    var _ = over.thenRun(worker::interrupt);
  }

  /** What goes wrong is logged: the node serves all the same. */
  private void run(Workload workload) {
    try (Resources resources = new Resources()) {
      workload.run(resources, settings.limit());
    } catch (InterruptedException ended) {
      LOG.debug("the warm-up has taken as long as it may");
    } catch (Exception failed) {
      if (!over.isDone()) {
        LOG.warn("the warm-up failed: the first requests take longer", failed);
      }
    } finally {
      over.complete(null);
    }
  }

  /** Ends it, and waits some seconds at most until what it has opened is closed: it uses what the node closes next. */
  @Override
  public void close() {
    over.complete(null);
    Thread worker = begun;
    if (worker == null) {
      return;
    }
    try {
      if (!worker.join(CLOSE_TIMEOUT)) {
        LOG.debug("the warm-up still runs after {}", CLOSE_TIMEOUT);
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }
}
