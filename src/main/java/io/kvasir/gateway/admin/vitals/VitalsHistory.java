package io.kvasir.gateway.admin.vitals;

import io.kvasir.gateway.admin.vitals.ClusterVitals.Answers;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;

/** The samples of all nodes, brought together into those of the cluster. */
final class VitalsHistory {
  private static final double STEP = VitalsMeter.STEP.toSeconds();

  /** What nodes' samples belong together: how many steps they are old. */
  private final NavigableMap<Integer, List<VitalFigures>> byStep = new TreeMap<>();

  private VitalsHistory() {}

  /**
   * The figures of one step.
   *
   * @param age how long ago it ended, seconds
   * @param nodes how many have a sample of it
   */
  record Step(double age, int nodes, VitalFigures figures) {}

  /** The sums of what nodes have kept, the oldest first. */
  static List<Step> of(Answers<List<VitalSample>> answers) {
    VitalsHistory history = new VitalsHistory();
    answers.byNode().values().forEach(history::add);
    List<Step> steps = new ArrayList<>();
    history.byStep.descendingMap().forEach((step, figures) -> steps.add(step(step, figures)));
    return steps;
  }

  private static Step step(int age, Collection<VitalFigures> figures) {
    return new Step(age * STEP, figures.size(), VitalFigures.sum(figures));
  }

  /**
   * Adds a node's samples, the latest first. Nodes do not measure at the same moment: the latest of each belong
   * together, and those that follow each other do so here, however little later or earlier one of them was taken.
   */
  private void add(List<VitalSample> samples) {
    int step = -1;
    double age = 0;
    for (VitalSample sample : samples) {
      boolean next = sample.age() - age < 1.5 * STEP;
      step = next ? step + 1 : Math.max(step + 1, (int) (sample.age() / STEP));
      age = sample.age();
      byStep.computeIfAbsent(step, _ -> new ArrayList<>()).add(sample.figures());
    }
  }
}
