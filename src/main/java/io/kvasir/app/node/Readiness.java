package io.kvasir.app.node;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * What keeps this node from serving, and what it serves with less than was configured. Thread-safe.
 */
public final class Readiness {
  private final List<Supplier<Optional<String>>> obstacles = new CopyOnWriteArrayList<>();
  private final List<Supplier<List<String>>> degradations = new CopyOnWriteArrayList<>();
  private volatile BooleanSupplier standalone = () -> false;

  /** Asks each time whether something keeps the node from serving, and what. */
  void obstacle(Supplier<Optional<String>> obstacle) {
    obstacles.add(obstacle);
  }

  /** Asks each time what is served with less. */
  void degradation(Supplier<List<String>> degradation) {
    degradations.add(degradation);
  }

  /** While this says so the node is to do without the cluster, and what that lacks keeps it from nothing. */
  void standaloneWhile(BooleanSupplier alone) {
    this.standalone = alone;
  }

  public boolean isStandalone() {
    return standalone.getAsBoolean();
  }

  public List<String> obstacles() {
    return obstacles.stream().flatMap(obstacle -> obstacle.get().stream()).toList();
  }

  /** What the node does without, in words; empty when it is whole. */
  public List<String> degraded() {
    List<String> degraded = new ArrayList<>();
    degradations.forEach(degradation -> degraded.addAll(degradation.get()));
    return degraded;
  }
}
