package io.kvasir.cell;

import io.kvasir.events.EventFeed;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Retention;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * An engine endpoint as the operator describes it, in the configuration or to the admin API.
 *
 * @param name unique in the fleet
 * @param url base URL, http or https, without a path
 * @param role what its workers may do
 * @param models names requests may call it by; the first is the base model, the others its LoRA adapters
 * @param labels free, for filters and locality
 * @param engine how its engine is set up
 * @param events where its cache events come from, none for an engine without events
 * @param kvTransfer how it hands KV blocks over or takes them, null when it does not
 * @param learnt what was learnt from its engine, null when the operator described all of it
 */
public record PodSpec(
    String name,
    URI url,
    Role role,
    Set<String> models,
    Map<String, String> labels,
    Engine engine,
    List<EventFeed> events,
    @Nullable KvTransfer kvTransfer,
    @Nullable Learnt learnt) {
  /**
   * What a pod's engine told, where its description left that open.
   *
   * @param described what its description has, as JSON of an entry of the configuration's pods
   * @param engine kind and version, such as {@code vLLM 0.32.0}
   * @param remarks what the engine does not tell or could do better, each a sentence with the remedy
   */
  public record Learnt(String described, String engine, List<String> remarks) {
    /** Copies the list, which a node of another version may not have sent. */
    public Learnt {
      remarks = List.copyOf(Objects.requireNonNullElse(remarks, List.of()));
    }
  }

  /**
   * How a pod's engine is set up.
   *
   * @param name name of its latency coefficients
   * @param ranks its data-parallel ranks, 1 to {@link CellSettings#MAX_SLOTS}; each is a worker
   * @param blockSize tokens in one of its KV blocks
   * @param maxInFlight requests each of its workers may have in flight
   * @param capacityBlocks blocks each of its workers is believed to keep where it does not report them: one without
   *     events, or prompts that are known by their text only
   * @param retention how it is told to keep what programs have used
   */
  public record Engine(
      String name, int ranks, int blockSize, int maxInFlight, int capacityBlocks, Retention retention) {
    private static final Engine UNKNOWN = new Engine("", 0, 0, 0, 0);

    /** What a node of another version did not send is none. */
    public Engine {
      retention = Objects.requireNonNullElse(retention, Retention.NONE);
    }

    /** One that keeps what was used last. */
    public Engine(String name, int ranks, int blockSize, int maxInFlight, int capacityBlocks) {
      this(name, ranks, blockSize, maxInFlight, capacityBlocks, Retention.NONE);
    }
  }

  /** Copies what it is given; parts that a node of another version did not send are empty. */
  public PodSpec {
    engine = orUnknown(engine);
    events = copy(events);
  }

  /** A pod of which nothing was learnt. */
  public PodSpec(
      String name,
      URI url,
      Role role,
      Set<String> models,
      Map<String, String> labels,
      Engine engine,
      List<EventFeed> events,
      @Nullable KvTransfer kvTransfer) {
    this(name, url, role, models, labels, engine, events, kvTransfer, null);
  }

  /** The same pod with other events. */
  public PodSpec withEvents(List<EventFeed> feeds) {
    return new PodSpec(name, url, role, models, labels, engine, feeds, kvTransfer, learnt);
  }

  /** The same pod with what was learnt from its engine. */
  public PodSpec with(@Nullable Learnt now) {
    return new PodSpec(name, url, role, models, labels, engine, events, kvTransfer, now);
  }

  private static Engine orUnknown(@Nullable Engine engine) {
    return engine == null ? Engine.UNKNOWN : engine;
  }

  private static List<EventFeed> copy(@Nullable List<EventFeed> events) {
    return events == null ? List.of() : List.copyOf(events);
  }

  /**
   * Whether a worker of this pod may go on with what is known of it as one of another description: only names of LoRA
   * adapters, labels and remarks differ.
   */
  public boolean hasSameEngine(PodSpec other) {
    PodSpec renamed =
        new PodSpec(
            name, url, role, other.models, other.labels, engine, events, kvTransfer,
            learnt == null || other.learnt == null || !learnt.engine.equals(other.learnt.engine)
                ? learnt
                : other.learnt);
    return renamed.equals(other) && models.iterator().next().equals(other.models.iterator().next());
  }

  /** What differs in another description, for people; empty where that is nothing to speak of. */
  public String changesTo(PodSpec other) {
    List<String> changes = new ArrayList<>();
    if (learnt != null && other.learnt != null && !learnt.engine.equals(other.learnt.engine)) {
      changes.add(learnt.engine + " is " + other.learnt.engine + " now");
    }
    if (!models.equals(other.models)) {
      changes.add("models " + String.join(", ", models) + " are " + String.join(", ", other.models) + " now");
    }
    if (engine.blockSize != other.engine.blockSize) {
      changes.add("KV blocks of " + engine.blockSize + " tokens have " + other.engine.blockSize + " now");
    }
    if (engine.ranks != other.engine.ranks) {
      changes.add(engine.ranks + " ranks are " + other.engine.ranks + " now");
    }
    if (!events.equals(other.events)) {
      changes.add("cache events come from elsewhere");
    }
    if (engine.retention != other.engine.retention) {
      changes.add(
          other.engine.retention == Retention.NONE
              ? "it does not retain what programs have used any more"
              : "it retains what programs have used now");
    }
    if (role != other.role || !Objects.equals(kvTransfer, other.kvTransfer)) {
      changes.add("its role or connector is another");
    }
    return String.join("; ", changes);
  }

  /**
   * Whether a prompt would be under an adapter or a cache salt of which this pod's events do not tell: what it holds of
   * such blocks is neither known nor to be predicted.
   *
   * @param model as the request names it
   * @param salted whether the request has a cache salt
   */
  public boolean hides(String model, boolean salted) {
    for (EventFeed feed : events) {
      if (!feed.reportsNamespaces()) {
        return salted || !model.equals(models.iterator().next());
      }
    }
    return false;
  }

  /** Whether its workers share a prompt's blocks only once they have computed them, as far as that is described. */
  public boolean sharesOnceComputed() {
    for (int i = 0; i < events.size(); i++) {
      if (events.get(i).onceComputed()) {
        return true;
      }
    }
    return false;
  }

  /** The id of the worker of a rank. */
  public String workerId(int rank) {
    return engine.ranks == 1 ? name : name + "#" + rank;
  }

  /** The ids of its workers, in the order of their ranks. */
  public List<String> workerIds() {
    return IntStream.range(0, engine.ranks).mapToObj(this::workerId).toList();
  }

  /** The worker of a rank, in a slot of its cell. */
  public Worker worker(int rank, int slot) {
    return new Worker(
        workerId(rank), name, url, rank, engine.ranks, slot, role, models, labels, engine.maxInFlight, engine.name,
        kvTransfer, engine.retention);
  }
}
