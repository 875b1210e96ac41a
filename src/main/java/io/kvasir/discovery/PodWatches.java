package io.kvasir.discovery;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.kubernetes.ApiResource;
import io.kvasir.kubernetes.ObjectKey;
import io.kvasir.kubernetes.ObjectSelection;
import io.kvasir.kubernetes.ObjectWatch;
import io.kvasir.kubernetes.inference.InferenceObjects;
import io.kvasir.kubernetes.inference.InferencePool;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The watches of engines' pods: one for the label selector of the configuration, and one for each selector of
 * InferencePools, which come and go. Where these are many, one for all pods of a namespace, or of all namespaces, takes
 * the place of theirs: each watch costs the API and this node a connection. While the API does not answer, or refuses,
 * the known pods stay: an API that is down, or starts and does not know its roles yet, is no reason to stop serving.
 * Thread-safe.
 */
final class PodWatches implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PodWatches.class);

  /** With more selectors of pools than that there is a watch for each namespace, until they are half as many again. */
  private static final int MAX_SELECTORS = 32;

  private final KubernetesSettings settings;
  private final ObjectWatch.Pace pace;
  private final @Nullable InferenceObjects pools;
  private final Runnable changed;
  private final Consumer<String> failed;
  private final Thread starter = Thread.ofVirtual().name("kvasir-pod-watches").unstarted(this::followFirst);
  // Guarded by this.
  private final Map<ObjectSelection, Followed> followed = new HashMap<>();
  /** Whether the API has answered for all pools, as of those that are followed. */
  private boolean complete;
  /** Where the API has refused the pools, as of those that are followed. */
  private Set<String> unreadNamespaces = Set.of();
  private boolean wide;
  private boolean closed;
  private Runnable listening = () -> {};

  /**
   * The pods that are engines.
   *
   * @param members by what they are
   * @param unread those that are not among them, as the API has refused them
   */
  record Selected(Map<ObjectKey, PodMembership> members, UnreadPods unread) {}

  /**
   * The watches of a source; they begin with {@link #start}.
   *
   * @param changed is run when there are other pods
   * @param failed takes it when the API could not be read, in a sentence
   */
  PodWatches(KubernetesSource source, Runnable changed, Consumer<String> failed) {
    this.settings = source.settings();
    this.pace = source.pace();
    this.pools = source.pools();
    this.changed = changed;
    this.failed = failed;
  }

  /** Does not wait: an actor starts it, and who is told of other pods may wait for another. */
  void start() {
    InferenceObjects inference = pools;
    if (inference != null) {
      listenTo(inference);
    }
    starter.start();
  }

  private synchronized void listenTo(InferenceObjects inference) {
    listening = inference.onChange(this::follow);
  }

  /** Where there is nothing to watch, no watch says again that there are no pods. */
  private void followFirst() {
    try {
      while (true) {
        try {
          follow();
          return;
        } catch (RuntimeException busy) {
          failed.accept("the pods of Kubernetes could not be declared: " + busy.getMessage());
        }
        Thread.sleep(pace.pause());
      }
    } catch (InterruptedException closed) {
      LOG.debug("the watches of pods end before they have begun");
    }
  }

  /** The pods that are engines; null until the API has answered for all selectors. */
  synchronized @Nullable Selected selected() {
    if (closed || !complete) {
      return null;
    }
    Map<ObjectKey, PodMembership> members = new TreeMap<>();
    Set<ObjectKey> unreadPools = new HashSet<>();
    boolean unreadSelector = false;
    for (Followed each : followed.values()) {
      Map<ObjectKey, JsonNode> pods = each.pods;
      if (pods != null) {
        each.addTo(members, pods);
      } else if (each.refused) {
        each.pools.forEach(pool -> unreadPools.add(pool.key()));
        unreadSelector |= each.configured;
      } else {
        return null;
      }
    }
    return new Selected(members, new UnreadPods(unreadSelector, unreadPools, unreadNamespaces));
  }

  /** Why pods could not be read when it was tried last, each in a sentence. */
  synchronized List<String> failures() {
    List<String> failures = new ArrayList<>();
    for (Followed each : followed.values()) {
      if (each.failure != null) {
        failures.add(each.failure);
      }
    }
    return failures;
  }

  /** Watches what is to be watched now, and that only. */
  private void follow() {
    synchronized (this) {
      if (closed) {
        return;
      }
      complete = pools == null || pools.isComplete();
      unreadNamespaces = pools == null ? Set.of() : pools.unreadNamespaces();
      Map<ObjectSelection, List<InferencePool>> wanted = selections();
      followed.entrySet().removeIf(each -> {
        boolean over = !wanted.containsKey(each.getKey());
        if (over) {
          each.getValue().watch.close();
        }
        return over;
      });
      wanted.forEach((selection, own) -> followed.computeIfAbsent(selection, Followed::new).pools = own);
    }
    changed.run();
  }

  private Map<ObjectSelection, List<InferencePool>> selections() {
    Map<ObjectSelection, List<InferencePool>> selections = new HashMap<>();
    if (pools != null) {
      for (InferencePool pool : pools.pools()) {
        ObjectSelection pods = new ObjectSelection(ApiResource.PODS, pool.key().namespace(), pool.selector());
        selections.computeIfAbsent(pods, _ -> new ArrayList<>()).add(pool);
      }
      wide = selections.size() > (wide ? MAX_SELECTORS / 2 : MAX_SELECTORS);
      if (wide) {
        selections = widened(selections, pools.isOfAllNamespaces());
      }
    }
    if (!settings.selector().isBlank()) {
      selections.computeIfAbsent(configured(), _ -> new ArrayList<>());
    }
    return selections;
  }

  private ObjectSelection configured() {
    return new ObjectSelection(ApiResource.PODS, settings.namespace(), settings.selector());
  }

  /** All pods in place of those that a selector matches. */
  private static Map<ObjectSelection, List<InferencePool>> widened(
      Map<ObjectSelection, List<InferencePool>> selections, boolean everywhere) {
    Map<ObjectSelection, List<InferencePool>> wide = new HashMap<>();
    selections.forEach((narrow, pools) -> {
      ObjectSelection all = new ObjectSelection(ApiResource.PODS, everywhere ? "" : narrow.namespace(), "");
      wide.computeIfAbsent(all, _ -> new ArrayList<>()).addAll(pools);
    });
    return wide;
  }

  @Override
  public synchronized void close() {
    closed = true;
    listening.run();
    starter.interrupt();
    followed.values().forEach(each -> each.watch.close());
  }

  /** The pods of a selector. */
  private final class Followed implements ObjectWatch.Listener {
    private final ObjectWatch watch;
    private final boolean configured;
    // Guarded by PodWatches.this.
    private List<InferencePool> pools = List.of();
    private @Nullable Map<ObjectKey, JsonNode> pods;
    private boolean refused;
    private @Nullable String failure;

    Followed(ObjectSelection selection) {
      this.configured = !settings.selector().isBlank() && selection.equals(configured());
      this.watch = new ObjectWatch(settings.connection(), List.of(selection), pace, this);
    }

    private void addTo(Map<ObjectKey, PodMembership> members, Map<ObjectKey, JsonNode> selected) {
      selected.forEach((key, pod) -> {
        List<InferencePool> own = pools.stream().filter(pool -> pool.selects(pod)).toList();
        if (configured || !own.isEmpty()) {
          PodMembership member = members.computeIfAbsent(key, _ -> new PodMembership(key, pod));
          own.forEach(member::add);
        }
      });
    }

    @Override
    public void updated(ObjectSelection selection, Map<ObjectKey, JsonNode> objects) {
      synchronized (PodWatches.this) {
        pods = objects;
        failure = null;
      }
      changed.run();
    }

    @Override
    public void failed(ObjectWatch.Failure reason) {
      boolean unread;
      String told;
      synchronized (PodWatches.this) {
        Map<ObjectKey, JsonNode> before = pods;
        int known = before == null ? 0 : before.size();
        told = reason.reason() + "; the " + known + " pods known from it stay";
        failure = told;
        // Pods of other selectors do not wait for those that may not be read.
        unread = before == null && reason.refused();
        refused |= unread;
      }
      if (unread) {
        changed.run();
      }
      failed.accept(told);
    }
  }
}
