package io.kvasir.discovery;

import io.kvasir.cell.Cells;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.Pods;
import io.kvasir.kubernetes.ObjectWatch;
import io.kvasir.kubernetes.inference.InferenceMetrics;
import io.kvasir.kubernetes.inference.InferenceObjects;
import io.kvasir.kubernetes.inference.StatusWriter;
import io.kvasir.pools.PoolSet;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.prometheus.metrics.core.metrics.Counter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
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
public final class Discovery implements AutoCloseable {
  /** How often the status writer looks at references again. */
  private static final Duration STATUS_INTERVAL = Duration.ofMinutes(1);

  private final Pods roster;
  private final ConfiguredPods configured;
  private final List<SourceState> states = new ArrayList<>();
  private @Nullable InferenceObjects pools;
  private volatile @Nullable StatusWriter statuses;

  /**
   * The sources of pods.
   *
   * @param file with a list of pods, null for none
   * @param interval time between two reads of the file
   * @param kubernetes null for none
   * @param bare pods of the configuration that leave to their engines what those tell
   */
  public record Settings(
      @Nullable Path file, Duration interval, @Nullable KubernetesSettings kubernetes, List<BarePod> bare) {
    /** Copies the list. */
    public Settings {
      bare = List.copyOf(bare);
    }

    /** The same with pods of the configuration that leave to their engines what those tell. */
    public Settings with(List<BarePod> pods) {
      return new Settings(file, interval, kubernetes, pods);
    }

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

  /**
   * What discovery needs to know of the pods that it finds.
   *
   * @param reader of their descriptions
   * @param learner learns of the engines what those are that name no models
   * @param pools takes the InferencePools that this node sees, and what belongs to them, after each change
   */
  public record Readers(PodsReader reader, PodLearner learner, Consumer<PoolSet> pools) {}

  /**
   * Starts the singletons, which read the sources on this node when it is the oldest, and the watch of InferencePools,
   * which every node has. The singletons end with the system.
   */
  public Discovery(
      ActorSystem<?> system, Settings settings, Readers readers, Pods roster, Cells cells, Metrics metrics) {
    this.roster = roster;
    this.configured = new ConfiguredPods(settings.bare(), readers.reader, readers.learner, roster);
    Counter changes = EngineWatch.changes(metrics);
    startSingleton(
        system, "engine-watch", null, () ->
            new EngineWatch(readers.reader, readers.learner, roster, cells, EngineWatch.ASK_INTERVAL, changes));
    Path file = settings.file();
    if (file != null) {
      SourceState state = state(PodSource.FILE, metrics);
      startSingleton(
          system,
          PodSource.FILE,
          state,
          () -> new PodFile(file, settings.interval(), readers.reader, roster, state));
    }
    KubernetesSettings kubernetes = settings.kubernetes();
    if (kubernetes != null) {
      SourceState state = state(PodSource.KUBERNETES, metrics);
      ObjectWatch.Pace pace = ObjectWatch.Pace.of(kubernetes.relist());
      InferenceMetrics inference = new InferenceMetrics(metrics);
      pools = watchPools(kubernetes, pace, inference, readers.pools);
      KubernetesSource source = new KubernetesSource(kubernetes, pace, pools);
      startSingleton(
          system,
          PodSource.KUBERNETES,
          state,
          () -> {
            KubernetesPods pods = new KubernetesPods(source, readers.reader, readers.learner, roster, state);
            StatusWriter writer = writeStatuses(source, inference);
            return () -> {
              pods.close();
              if (writer != null) {
                writer.close();
              }
              statuses = null;
            };
          });
    }
  }

  private static @Nullable InferenceObjects watchPools(
      KubernetesSettings kubernetes, ObjectWatch.Pace pace, InferenceMetrics metrics, Consumer<PoolSet> onChange) {
    PoolSettings settings = kubernetes.pools();
    if (settings == null) {
      return null;
    }
    InferenceObjects objects =
        new InferenceObjects(kubernetes.connection(), settings.namespaces(), pace, metrics);
    objects.onChange(() -> onChange.accept(objects.forPicker()));
    objects.start();
    return objects;
  }

  private @Nullable StatusWriter writeStatuses(KubernetesSource source, InferenceMetrics metrics) {
    KubernetesSettings settings = source.settings();
    InferenceObjects objects = source.pools();
    PoolSettings poolSettings = settings.pools();
    if (objects == null || poolSettings == null || !poolSettings.writesStatus()) {
      return null;
    }
    StatusWriter writer =
        new StatusWriter(
            objects, settings.connection(), "kvasir.io/" + settings.namespace(), STATUS_INTERVAL, metrics,
            InstantSource.system());
    statuses = writer;
    return writer;
  }

  /**
   * Degradations for readiness, each in a sentence: faults of the sources that this node reads, and of InferencePools
   * and what belongs to them.
   */
  public List<Problem> problems() {
    List<Problem> problems = new ArrayList<>(states.stream().flatMap(state -> state.problems().stream()).toList());
    problems.addAll(configured.problems());
    roster.all().forEach(pod -> LearntPod.problem(pod).ifPresent(problems::add));
    if (pools != null) {
      problems.addAll(pools.problems());
    }
    StatusWriter writer = statuses;
    if (writer != null) {
      writer.problem().ifPresent(problems::add);
    }
    return problems;
  }

  /** What keeps a picker from serving: InferencePools that have not been read since this node runs. */
  public Optional<Problem> obstacle() {
    return pools == null ? Optional.empty() : pools.obstacle();
  }

  /** Ends the watch of InferencePools. */
  @Override
  public void close() {
    configured.close();
    if (pools != null) {
      pools.close();
    }
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
    startSingleton(
        system,
        role(kind),
        role(kind),
        () -> {
          system.log().info("this node reads a source of pods: {}", role(kind));
          AutoCloseable source = open.get();
          return () -> {
            source.close();
            state.stopped();
          };
        });
  }

  /** Runs something on the oldest node of a role, or of all. */
  private static void startSingleton(
      ActorSystem<?> system, String name, @Nullable String role, Supplier<AutoCloseable> open) {
    Behavior<Stop> behavior =
        Behaviors.setup(
            context -> {
              AutoCloseable opened = open.get();
              return Behaviors.receive(Stop.class)
                  .onMessage(Stop.class, stop -> Behaviors.stopped())
                  .onSignal(
                      PostStop.class,
                      stopped -> {
                        opened.close();
                        return Behaviors.same();
                      })
                  .build();
            });
    ClusterSingletonSettings settings = ClusterSingletonSettings.create(system);
    ClusterSingleton.get(system)
        .init(
            SingletonActor.of(behavior, "kvasir-" + name)
                .withStopMessage(Stop.INSTANCE)
                .withSettings(role == null ? settings : settings.withRole(role)));
  }

  private enum Stop { INSTANCE }
}
