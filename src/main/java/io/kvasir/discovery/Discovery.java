package io.kvasir.discovery;

import io.kvasir.cell.Cells;
import io.kvasir.cell.PodSource;
import io.kvasir.telemetry.Metrics;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.typed.ClusterSingleton;
import org.apache.pekko.cluster.typed.ClusterSingletonSettings;
import org.apache.pekko.cluster.typed.SingletonActor;
import org.jspecify.annotations.Nullable;

/**
 * Discovery of pods, for all nodes by one of them: each source is read by a cluster singleton on the oldest of the
 * nodes that are configured for it (they have a role for it). If every node read it, one with a stale view (a ConfigMap
 * that has not arrived there yet, a watch that hangs) would restore pods that the others have removed. When the node
 * leaves, the next one takes over: what it reads is compared with the replicated roster, so no pod disappears in
 * between, and pods that were removed meanwhile are removed then.
 */
public final class Discovery {
  private final List<SourceState> states = new ArrayList<>();

  /**
   * The sources of pods.
   *
   * @param file with a list of pods, null for none
   * @param interval time between two reads of the file
   * @param kubernetes null for none
   */
  public record Settings(
      @Nullable Path file, Duration interval, @Nullable KubernetesSettings kubernetes) {
    /** The cluster roles of a node with these sources. */
    public List<String> roles() {
      List<String> roles = new ArrayList<>();
      if (file != null) {
        roles.add(role(PodSource.FILE));
      }
      if (kubernetes != null) {
        roles.add(role(PodSource.KUBERNETES));
      }
      return roles;
    }
  }

  /** Starts the singletons, which read the sources on this node when it is the oldest. They end with the system. */
  public Discovery(ActorSystem<?> system, Settings settings, PodsReader reader, Cells cells, Metrics metrics) {
    Path file = settings.file();
    if (file != null) {
      SourceState state = state(PodSource.FILE, metrics);
      startSingleton(
          system,
          PodSource.FILE,
          state,
          () -> new PodFile(file, settings.interval(), reader, cells, state));
    }
    KubernetesSettings kubernetes = settings.kubernetes();
    if (kubernetes != null) {
      SourceState state = state(PodSource.KUBERNETES, metrics);
      startSingleton(
          system,
          PodSource.KUBERNETES,
          state,
          () -> new KubernetesPods(kubernetes, reader, cells, state));
    }
  }

  /** Degradations for readiness, each in a sentence: faults of the sources that this node reads. */
  public List<String> degraded() {
    return states.stream().flatMap(state -> state.degraded().stream()).toList();
  }

  private SourceState state(PodSource source, Metrics metrics) {
    SourceState state = new SourceState(source, metrics);
    states.add(state);
    return state;
  }

  private static String role(PodSource source) {
    return "pods-from-" + source.name().toLowerCase(Locale.ROOT);
  }

  private static void startSingleton(
      ActorSystem<?> system, PodSource kind, SourceState state, Supplier<AutoCloseable> open) {
    Behavior<Stop> behavior =
        Behaviors.setup(
            context -> {
              context.getLog().info("this node reads a source of pods: {}", role(kind));
              AutoCloseable source = open.get();
              return Behaviors.receive(Stop.class)
                  .onMessage(Stop.class, stop -> Behaviors.stopped())
                  .onSignal(
                      PostStop.class,
                      stopped -> {
                        source.close();
                        state.stopped();
                        return Behaviors.same();
                      })
                  .build();
            });
    ClusterSingleton.get(system)
        .init(
            SingletonActor.of(behavior, "kvasir-" + role(kind))
                .withStopMessage(Stop.INSTANCE)
                .withSettings(ClusterSingletonSettings.create(system).withRole(role(kind))));
  }

  private enum Stop { INSTANCE }
}
