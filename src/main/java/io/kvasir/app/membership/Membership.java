package io.kvasir.app.membership;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.Done;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Props;

/**
 * A node's place in the cluster. A node that was removed from it goes on alone until the others can be reached; it
 * cannot rejoin under its old identity, so a new one has to be started in its place. Thread-safe.
 */
public final class Membership {
  private final CompletableFuture<Done> rejoinable = new CompletableFuture<>();
  private volatile boolean cutOff;

  /** Receives changes, on the watching actor. */
  interface Listener {
    void onCutOff();

    void onRejoinable();
  }

  /**
   * Watches an actor system's membership until the system ends.
   *
   * @param discovers whether its nodes find each other by discovery
   */
  public Membership(ActorSystem<?> system, boolean discovers, Metrics metrics) {
    system.systemActorOf(MembershipWatch.create(discovers, new StateListener()), "kvasir-membership", Props.empty());
    GaugeWithCallback.builder()
        .name("kvasir_cluster_cut_off")
        .help("1 while the other nodes go on without this one, because they could not reach it.")
        .callback(gauge -> gauge.call(cutOff ? 1 : 0))
        .register(metrics.registry());
  }

  /** Whether this node was removed from the cluster, which goes on without it. */
  public boolean isCutOff() {
    return cutOff;
  }

  /** Completes when a node that was cut off can reach most of the others again. */
  public CompletionStage<Done> whenRejoinable() {
    return rejoinable;
  }

  private final class StateListener implements Listener {
    @Override
    public void onCutOff() {
      cutOff = true;
    }

    @Override
    public void onRejoinable() {
      rejoinable.complete(Done.getInstance());
    }
  }
}
