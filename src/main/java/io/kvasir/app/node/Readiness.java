package io.kvasir.app.node;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Collects the obstacles that keep this node from serving, and the degradations it serves with. Thread-safe.
 */
public final class Readiness {
  private final List<Supplier<Optional<String>>> obstacles = new CopyOnWriteArrayList<>();
  private final List<Supplier<List<String>>> degradations = new CopyOnWriteArrayList<>();
  private volatile BooleanSupplier standalone = () -> false;

  /** Adds a check that yields what keeps the node from serving, empty when nothing does. */
  void obstacle(Supplier<Optional<String>> obstacle) {
    obstacles.add(obstacle);
  }

  /** Adds a check that yields what the node does without. */
  void degradation(Supplier<List<String>> degradation) {
    degradations.add(degradation);
  }

  /** Sets when the node serves without the cluster, whose state is then no obstacle. */
  void standaloneWhile(BooleanSupplier alone) {
    this.standalone = alone;
  }

  public boolean isStandalone() {
    return standalone.getAsBoolean();
  }

  public List<String> obstacles() {
    return obstacles.stream().flatMap(obstacle -> obstacle.get().stream()).toList();
  }

  /** What the node does without, in words; empty when nothing is missing. */
  public List<String> degraded() {
    List<String> degraded = new ArrayList<>();
    degradations.forEach(degradation -> degraded.addAll(degradation.get()));
    return degraded;
  }
}
