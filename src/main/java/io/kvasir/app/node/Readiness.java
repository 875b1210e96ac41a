package io.kvasir.app.node;

import io.kvasir.telemetry.Problem;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Collects the problems of this node: the obstacles that keep it from serving, and the degradations it serves with.
 * Thread-safe.
 */
public final class Readiness {
  private final List<Supplier<Optional<Problem>>> obstacles = new CopyOnWriteArrayList<>();
  private final List<Supplier<List<Problem>>> degradations = new CopyOnWriteArrayList<>();
  private volatile BooleanSupplier standalone = () -> false;

  /** Adds a check that yields what keeps the node from serving, empty when nothing does. */
  void obstacle(Supplier<Optional<Problem>> obstacle) {
    obstacles.add(obstacle);
  }

  /** Adds a check that yields what the node does without. */
  void degradation(Supplier<List<Problem>> degradation) {
    degradations.add(degradation);
  }

  /** Sets when the node serves without the cluster, whose state is then no obstacle. */
  void standaloneWhile(BooleanSupplier alone) {
    this.standalone = alone;
  }

  public boolean isStandalone() {
    return standalone.getAsBoolean();
  }

  /** What keeps the node from serving; empty when nothing does. */
  public List<Problem> obstacles() {
    return obstacles.stream().flatMap(obstacle -> obstacle.get().stream()).toList();
  }

  /** What the node serves without, the worst first; empty when nothing is missing. */
  public List<Problem> degradations() {
    return Problem.worstFirst(degradations.stream().flatMap(degradation -> degradation.get().stream()).toList());
  }

  /** Obstacles and degradations, the worst first. */
  public List<Problem> problems() {
    List<Problem> all = new ArrayList<>(obstacles());
    all.addAll(degradations());
    return Problem.worstFirst(all);
  }
}
