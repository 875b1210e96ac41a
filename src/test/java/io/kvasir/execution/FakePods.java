package io.kvasir.execution;

import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Pods;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** Pods that are remembered and become no workers; those that are drained and removed are of the workers there are. */
public final class FakePods implements Pods {
  public final List<PodSpec> added = new CopyOnWriteArrayList<>();
  /** What each source declared last. */
  public final Map<PodSource, List<DiscoveredPod>> declared = new ConcurrentHashMap<>();
  /** What is refused of what is declared. */
  public volatile List<String> refused = List.of();
  /** Is run when a source declares its pods. */
  public volatile Runnable onDeclare = () -> {};
  public final List<String> drained = new CopyOnWriteArrayList<>();
  /** Pods whose source gives them nothing new. */
  public final Set<String> withheld = ConcurrentHashMap.newKeySet();
  private final FakeCells cells;

  FakePods(FakeCells cells) {
    this.cells = cells;
  }

  @Override
  public List<PodSpec> all() {
    return List.copyOf(added);
  }

  @Override
  public List<PodSpec> of(PodSource source) {
    return source == PodSource.ADMIN ? all() : List.of();
  }

  @Override
  public List<DiscoveredPod> declaredBy(PodSource source) {
    return declared.getOrDefault(source, List.of());
  }

  @Override
  public void announce(PodSpec pod) {
    if (added.stream().noneMatch(known -> known.name().equals(pod.name()))) {
      added.add(pod);
    }
  }

  @Override
  public boolean replace(PodSpec before, PodSpec after) {
    return added.remove(before) && added.add(after);
  }

  @Override
  public void add(PodSpec pod) {
    if (added.stream().anyMatch(known -> known.name().equals(pod.name()))) {
      throw new IllegalArgumentException("there is a pod '" + pod.name() + "' already");
    }
    added.add(pod);
  }

  @Override
  public List<String> declare(PodSource source, List<DiscoveredPod> pods) {
    onDeclare.run();
    declared.put(source, pods);
    return refused;
  }

  @Override
  public boolean drain(String pod) {
    drained.add(pod);
    return cells.workers.stream().anyMatch(worker -> worker.pod().equals(pod));
  }

  @Override
  public UndrainResult undrain(String pod) {
    drained.remove(pod);
    return withheld.contains(pod) ? UndrainResult.WITHHELD
        : cells.workers.stream().anyMatch(worker -> worker.pod().equals(pod)) ? UndrainResult.DONE
        : UndrainResult.UNKNOWN;
  }

  @Override
  public boolean remove(String pod) {
    return cells.workers.removeIf(worker -> worker.pod().equals(pod));
  }
}
