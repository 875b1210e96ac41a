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
 * Looks for pods on one node of the cluster, for all: a cluster singleton, among the nodes that are configured to look
 * at the same source (they have a role for it), the oldest. With every node looking, one whose view is old (a ConfigMap
 * that has not arrived there yet, a watch that hangs) would bring back what the others took away. When the node goes,
 * the next begins where the replicated roster is: what it finds is compared with that, so nothing flickers, and pods
 * that went meanwhile go then.
 */
public final class Discovery {
  private final List<SourceState> states = new ArrayList<>();

  /**
   * What to look at; null for nothing.
   *
   * @param file a list of pods
   * @param interval how often the file is looked at
   * @param kubernetes which pods of Kubernetes
   */
  public record Settings(
      @Nullable Path file, Duration interval, @Nullable KubernetesSettings kubernetes) {
    /** The roles a node has because of what it looks at. */
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

  /** Begins to look when this node is the one to do so. It ends with the actor system. */
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

  /** What is served with less, in plain words; tells of a source on the node that looks at it. */
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
      ActorSystem<?> system, PodSource source, SourceState state, Supplier<AutoCloseable> open) {
    Behavior<Stop> behavior =
        Behaviors.setup(
            context -> {
              context.getLog().info("this node looks for pods: {}", role(source));
              AutoCloseable looking = open.get();
              return Behaviors.receive(Stop.class)
                  .onMessage(Stop.class, stop -> Behaviors.stopped())
                  .onSignal(
                      PostStop.class,
                      stopped -> {
                        looking.close();
                        state.stopped();
                        return Behaviors.same();
                      })
                  .build();
            });
    ClusterSingleton.get(system)
        .init(
            SingletonActor.of(behavior, "kvasir-" + role(source))
                .withStopMessage(Stop.INSTANCE)
                .withSettings(ClusterSingletonSettings.create(system).withRole(role(source))));
  }

  private enum Stop { INSTANCE }
}
