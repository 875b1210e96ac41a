package io.kvasir.app.membership;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.Done;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Props;

/**
 * A node's place in the cluster. A node that the others took out of it goes on alone until they can be reached; it
 * cannot come back as what it was, so a new one has to be started in its place. Thread-safe.
 */
public final class Membership {
  private final CompletableFuture<Done> rejoinable = new CompletableFuture<>();
  private volatile boolean cutOff;

  /** Hears of changes, on the watching actor. */
  interface Listener {
    void onCutOff();

    void onRejoinable();
  }

  /** Watches the place of an actor system, as long as that lives. */
  public Membership(ActorSystem<?> system, Metrics metrics) {
    system.systemActorOf(MembershipWatch.create(new StateListener()), "kvasir-membership", Props.empty());
    GaugeWithCallback.builder()
        .name("kvasir_cluster_cut_off")
        .help("1 while the other nodes go on without this one, because they could not reach it.")
        .callback(gauge -> gauge.call(cutOff ? 1 : 0))
        .register(metrics.registry());
  }

  /** Whether the other nodes go on without this one. */
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
