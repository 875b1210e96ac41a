package io.kvasir.kubernetes.inference;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.kubernetes.KubernetesConnection;
import io.kvasir.kubernetes.ObjectKey;
import io.kvasir.kubernetes.ObjectSelection;
import io.kvasir.kubernetes.ObjectWatch;
import io.kvasir.pools.ModelRewrite;
import io.kvasir.pools.Objective;
import io.kvasir.pools.PoolSet;
import io.kvasir.telemetry.Problem;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The InferencePools, InferenceObjectives and InferenceModelRewrites of some namespaces as the API has them. Every node
 * watches them for itself: they are few, and each node picks. An object whose specification has become invalid stays in
 * force as it was; while the API does not answer all of them do. Thread-safe.
 */
public final class InferenceObjects implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(InferenceObjects.class);
  private static final int MAX_REPORTED = 5;

  private final KubernetesConnection connection;
  private final List<String> namespaces;
  private final ObjectWatch.Pace pace;
  private final InferenceMetrics metrics;
  private final List<Followed<InferencePool>> pools = new ArrayList<>();
  private final List<Followed<Objective>> objectives = new ArrayList<>();
  private final List<Followed<ModelRewrite>> rewrites = new ArrayList<>();
  private final List<ObjectWatch> watches = new ArrayList<>();
  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
  private volatile InferenceSnapshot snapshot = InferenceSnapshot.EMPTY;

  /**
   * The objects of these namespaces; an empty name means all namespaces. Nothing is read before {@link #start}.
   *
   * @param metrics of this node
   */
  public InferenceObjects(
      KubernetesConnection connection, List<String> namespaces, ObjectWatch.Pace pace, InferenceMetrics metrics) {
    this.connection = connection;
    this.namespaces = List.copyOf(namespaces);
    this.pace = pace;
    this.metrics = metrics;
  }

  /** Starts listing and watching; once. */
  public synchronized void start() {
    for (String namespace : namespaces) {
      pools.add(new Followed<>(namespace, InferenceKind.POOL, SpecReader::pool));
      objectives.add(new Followed<>(namespace, InferenceKind.OBJECTIVE, SpecReader::objective));
      rewrites.add(new Followed<>(namespace, InferenceKind.REWRITE, SpecReader::rewrite));
      for (Followed<?> each : List.of(pools.getLast(), objectives.getLast(), rewrites.getLast())) {
        List<ObjectSelection> selections =
            each.kind.resources().stream()
                .map(resource -> new ObjectSelection(resource, namespace, ""))
                .toList();
        watches.add(new ObjectWatch(connection, selections, pace, each));
      }
    }
  }

  /**
   * Has a listener run after each change, on a thread that it may hold up for a while.
   *
   * @return ends that
   */
  public Runnable onChange(Runnable listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }

  /** Whether it reads the objects of all namespaces. */
  public boolean isOfAllNamespaces() {
    return namespaces.contains("");
  }

  /** The pools in force. */
  public List<InferencePool> pools() {
    return snapshot.poolsInForce();
  }

  /** The pools in force with their rewrites and objectives, as the picker takes them. */
  public PoolSet forPicker() {
    return snapshot.toPools();
  }

  /** Whether the API has answered for all kinds and namespaces; before that objects may be missing. */
  public boolean isComplete() {
    return snapshot.complete();
  }

  /**
   * The namespaces whose pools have never been read, although the API has answered: it refused. An empty name means all
   * namespaces.
   */
  public Set<String> unreadNamespaces() {
    return snapshot.unread();
  }

  /**
   * What has never been read since this node runs: a picker that does not know its pools, or what belongs to them,
   * would send requests where they do not belong. Empty when everything has been; later outages do not count.
   */
  public synchronized Optional<Problem> obstacle() {
    return followed().stream()
        .filter(each -> !each.read)
        .findFirst()
        .map(
            each ->
                Problem.error(
                    "objects of kind " + each.kind.kind() + " have not been read yet"
                        + (each.failure == null ? "" : ": " + each.failure),
                    "see that this node can reach the Kubernetes API and may read them: it is tried again"));
  }

  /** The state now. */
  InferenceSnapshot snapshot() {
    return snapshot;
  }

  /** The objects with faults and the namespaces that cannot be read, for readiness; no more than a few. */
  public List<Problem> problems() {
    InferenceSnapshot now = snapshot;
    List<Problem> problems = new ArrayList<>();
    synchronized (this) {
      for (Followed<?> each : followed()) {
        if (each.failure != null) {
          problems.add(
              Problem.warning(
                  each.failure + "; the objects of kind " + each.kind.kind() + " known from it stay",
                  "see that this node can reach the API and may read them: it is tried again"));
        }
      }
    }
    List<String> faults = new ArrayList<>();
    now.pools().forEach((key, object) -> add(faults, InferenceKind.POOL, key, object.faults()));
    now.objectives().forEach((key, object) -> add(faults, InferenceKind.OBJECTIVE, key, now.faults(object)));
    now.rewrites().forEach((key, object) -> add(faults, InferenceKind.REWRITE, key, now.faults(object)));
    for (String fault : faults.subList(0, Math.min(MAX_REPORTED, faults.size()))) {
      problems.add(Problem.warning(fault, "correct it: until then its last valid state stays in force"));
    }
    if (faults.size() > MAX_REPORTED) {
      problems.add(
          Problem.warning(
              (faults.size() - MAX_REPORTED) + " more objects of Kubernetes have faults",
              "see the condition Accepted in their status"));
    }
    return problems;
  }

  private static void add(List<String> faults, InferenceKind kind, ObjectKey key, List<String> own) {
    own.forEach(fault -> faults.add(kind.kind() + " " + key + ": " + fault));
  }

  private List<Followed<?>> followed() {
    List<Followed<?>> all = new ArrayList<>(pools);
    all.addAll(objectives);
    all.addAll(rewrites);
    return all;
  }

  private void changed() {
    synchronized (this) {
      boolean complete = followed().stream().allMatch(each -> each.answered);
      Set<String> unread =
          pools.stream()
              .filter(each -> each.answered && !each.read)
              .map(each -> each.namespace)
              .collect(Collectors.toUnmodifiableSet());
      snapshot = new InferenceSnapshot(union(pools), union(objectives), union(rewrites), complete, unread);
      count(InferenceKind.POOL, snapshot.pools().values());
      count(InferenceKind.OBJECTIVE, snapshot.objectives().values());
      count(InferenceKind.REWRITE, snapshot.rewrites().values());
    }
    listeners.forEach(Runnable::run);
  }

  private static <T> Map<ObjectKey, KnownObject<T>> union(List<Followed<T>> followed) {
    Map<ObjectKey, KnownObject<T>> all = new TreeMap<>();
    followed.forEach(each -> all.putAll(each.known));
    return all;
  }

  private void count(InferenceKind kind, Collection<? extends KnownObject<?>> known) {
    int faulty = (int) known.stream().filter(object -> !object.faults().isEmpty()).count();
    metrics.known(kind, known.size(), faulty);
  }

  @Override
  public synchronized void close() {
    watches.forEach(ObjectWatch::close);
  }

  /** The objects of a kind in a namespace. */
  private final class Followed<T> implements ObjectWatch.Listener {
    private final String namespace;
    private final InferenceKind kind;
    private final Function<JsonNode, Reading<T>> reader;
    // Guarded by InferenceObjects.this.
    private Map<ObjectKey, KnownObject<T>> known = Map.of();
    private boolean answered;
    /** Whether the objects were listed, or there are none because nothing defines them. */
    private boolean read;
    private @Nullable String failure;

    Followed(String namespace, InferenceKind kind, Function<JsonNode, Reading<T>> reader) {
      this.namespace = namespace;
      this.kind = kind;
      this.reader = reader;
    }

    @Override
    public void updated(ObjectSelection selection, Map<ObjectKey, JsonNode> objects) {
      synchronized (InferenceObjects.this) {
        Map<ObjectKey, KnownObject<T>> now = new TreeMap<>();
        objects.forEach((key, object) -> now.put(key, known(selection, object, known.get(key))));
        known = now;
        answered = true;
        read = true;
        failure = null;
      }
      changed();
    }

    private KnownObject<T> known(ObjectSelection selection, JsonNode object, @Nullable KnownObject<T> before) {
      Reading<T> read = reader.apply(object);
      T inForce = read.value() != null || before == null ? read.value() : before.inForce();
      return new KnownObject<>(selection.resource(), object, inForce, read.faults());
    }

    @Override
    public void failed(ObjectWatch.Failure reason) {
      boolean news;
      synchronized (InferenceObjects.this) {
        // Objectives and rewrites are optional: without their definitions there are none.
        String now = reason.missing() && kind != InferenceKind.POOL ? null : reason.reason();
        news = (!answered && reason.refused()) || (!read && reason.missing());
        if (failure == null && (now != null || news)) {
          LOG.warn("{}: {}", kind.kind(), reason.reason());
        }
        failure = now;
        answered |= reason.refused();
        read |= reason.missing();
      }
      if (news) {
        changed();
      }
    }
  }
}
