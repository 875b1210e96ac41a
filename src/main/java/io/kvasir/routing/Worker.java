package io.kvasir.routing;

import io.kvasir.routing.cost.Deployment;
import java.net.URI;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One KV cache: a pod (an engine endpoint) and one of its data-parallel ranks.
 *
 * @param id unique in the fleet: the pod's name, and {@code #rank} where the pod has several
 * @param pod the engine endpoint's name
 * @param url base URL of the pod, without a path
 * @param rank data-parallel rank, 0 for the only one
 * @param ranks how many ranks the pod has; more than one and requests carry {@code X-data-parallel-rank}
 * @param slot bit position in its cell; -1 for a worker that was found in the roster, without its cell
 * @param role what it may do
 * @param models the names requests may call it by, the base model first and its LoRA adapters after it
 * @param labels the operator's, for filters and locality
 * @param maxInFlight requests it may have in flight; a reservation beyond that is refused
 * @param engine name of its latency coefficients, such as {@code h100-Qwen2.5-7B-tp1}
 * @param kvTransfer how its pod hands KV blocks over or takes them, null when it does not
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
    @Nullable KvTransfer kvTransfer) {

  /** What its times to the first token tell of. */
  public Deployment deployment() {
    Iterator<String> names = models.iterator();
    return new Deployment(engine, names.hasNext() ? names.next() : "");
  }

  /** Whether it can do without a prefill worker when it generates. */
  public boolean canPrefill() {
    return role == Role.BOTH
        || role == Role.PREFILL
        || (role == Role.DECODE && kvTransfer != null && kvTransfer.dialect().decodeCanPrefill());
  }

  /** Whether it and the other can hand KV blocks to each other. */
  public boolean pairsWith(Worker other) {
    return kvTransfer != null
        && other.kvTransfer != null
        && kvTransfer.pairsWith(other.kvTransfer)
        && !pod.equals(other.pod);
  }
}
