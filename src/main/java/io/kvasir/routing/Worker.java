package io.kvasir.routing;

import io.kvasir.routing.cost.Deployment;
import io.kvasir.routing.cost.EngineInstance;
import java.net.URI;
import java.util.Iterator;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A worker: one KV cache, that of a pod (an engine endpoint) and one of its data-parallel ranks.
 *
 * @param id unique in the fleet: the pod's name, and {@code #rank} where the pod has several
 * @param pod the engine endpoint's name
 * @param url base URL of the pod, without a path
 * @param rank data-parallel rank, 0 for the only one
 * @param ranks how many ranks the pod has; more than one and requests carry {@code X-data-parallel-rank}
 * @param slot bit position in its cell; -1 for a worker that was found in the roster, without its cell
 * @param role the steps that it may carry out
 * @param models the model names that requests may use, the base model first and its LoRA adapters after it
 * @param labels the operator's labels, for filters and locality
 * @param maxInFlight requests it may have in flight; a reservation beyond that is refused
 * @param engine name of its latency coefficients, such as {@code h100-Qwen2.5-7B-tp1}
 * @param kvTransfer its pod's settings for transferring KV blocks, null when it does not transfer
 * @param retention how its engine is told to keep what programs have used
 */
public record Worker(
    String id,
    String pod,
    URI url,
    int rank,
    int ranks,
    int slot,
    Role role,
    Set<String> models,
    Map<String, String> labels,
    int maxInFlight,
    String engine,
    @Nullable KvTransfer kvTransfer,
    Retention retention) {
  /** What a node of another version did not send is none. */
  public Worker {
    retention = Objects.requireNonNullElse(retention, Retention.NONE);
  }

  /** A worker whose engine keeps what was used last. */
  public Worker(
      String id,
      String pod,
      URI url,
      int rank,
      int ranks,
      int slot,
      Role role,
      Set<String> models,
      Map<String, String> labels,
      int maxInFlight,
      String engine,
      @Nullable KvTransfer kvTransfer) {
    this(
        id, pod, url, rank, ranks, slot, role, models, labels, maxInFlight, engine, kvTransfer, Retention.NONE);
  }

  /** The deployment whose costs its times to first token are samples of. */
  public Deployment deployment() {
    Iterator<String> names = models.iterator();
    return new Deployment(engine, names.hasNext() ? names.next() : "");
  }

  /** Its engine, whose pace its times to first token are samples of. */
  public EngineInstance instance() {
    return new EngineInstance(deployment(), id);
  }

  /** Whether it can decode without a prefill worker. */
  public boolean canPrefill() {
    return role == Role.BOTH
        || role == Role.PREFILL
        || (role == Role.DECODE && kvTransfer != null && kvTransfer.dialect().decodeCanPrefill());
  }

  /** Whether it and the other can transfer KV blocks to each other. */
  public boolean pairsWith(Worker other) {
    return kvTransfer != null
        && other.kvTransfer != null
        && kvTransfer.pairsWith(other.kvTransfer)
        && !pod.equals(other.pod);
  }
}
