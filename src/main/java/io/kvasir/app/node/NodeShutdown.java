package io.kvasir.app.node;

import io.kvasir.app.config.KvasirConfig.GatewayConfig;
import io.kvasir.http.server.HttpServer;
import io.kvasir.picker.EndpointPicker;
import io.kvasir.telemetry.Problem;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.Done;
import org.apache.pekko.actor.CoordinatedShutdown;
import org.apache.pekko.actor.typed.ActorSystem;
import org.jspecify.annotations.Nullable;

/**
 * The steps of stopping a node: it reports itself not ready, drains the gateway, and closes its parts. The gateway ends
 * before the node leaves the cluster, since streams need decisions and reservations. Thread-safe.
 */
final class NodeShutdown {
  private volatile boolean stopping;

  /** Makes the stop an obstacle to readiness. */
  void register(Readiness readiness) {
    Problem stop = Problem.error("the node is stopping", "send requests to another node");
    readiness.obstacle(() -> stopping ? Optional.of(stop) : Optional.empty());
  }

  /**
   * Adds the steps to the actor system's own shutdown.
   *
   * @param picker null without one
   * @param resources closed when the gateway has drained
   * @param cellResources closed when the cells have left
   */
  void schedule(
      ActorSystem<?> system,
      GatewayConfig settings,
      HttpServer gateway,
      @Nullable EndpointPicker picker,
      Resources resources,
      Resources cellResources) {
    CoordinatedShutdown shutdown = CoordinatedShutdown.get(system);
    shutdown.addTask(
        CoordinatedShutdown.PhaseBeforeServiceUnbind(),
        "kvasir-not-ready",
        () -> inBackground(() -> announce(settings.drainDelay())));
    shutdown.addTask(
        CoordinatedShutdown.PhaseServiceRequestsDone(),
        "kvasir-drain",
        () -> inBackground(() -> gateway.drain(settings.drainTimeout())));
    if (picker != null) {
      shutdown.addTask(
          CoordinatedShutdown.PhaseServiceRequestsDone(),
          "kvasir-drain-picker",
          () -> inBackground(() -> picker.drain(settings.drainTimeout())));
    }
    shutdown.addTask(
        CoordinatedShutdown.PhaseServiceStop(), "kvasir-rooms", () -> inBackground(resources::close));
    shutdown.addTask(
        CoordinatedShutdown.PhaseBeforeActorSystemTerminate(),
        "kvasir-rooms-of-cells",
        () -> inBackground(cellResources::close));
  }

  private void announce(@Nullable Duration delay) {
    stopping = true;
    if (delay != null) {
      try {
        Thread.sleep(delay);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static CompletionStage<Done> inBackground(Runnable step) {
    return CompletableFuture.runAsync(step, task -> Thread.ofVirtual().start(task)).thenApply(_ -> Done.getInstance());
  }
}
