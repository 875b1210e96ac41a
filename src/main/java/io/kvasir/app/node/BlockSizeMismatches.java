package io.kvasir.app.node;

import io.kvasir.cell.PodSpec;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptMode;
import io.kvasir.telemetry.Problem;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Finds pods whose engines keep blocks into which those do not fit into which the prompts of their models are cut: of
 * such, nothing is found. Larger blocks are cut as prompts are where theirs fit into them.
 */
final class BlockSizeMismatches {
  private static final int MAX_REPORTED = 5;

  private BlockSizeMismatches() {}

  /** A model as it is prepared, and as some of its engines keep it. */
  private record Mismatch(String model, int prepared, int kept) {
    Problem problem(List<String> pods) {
      String named =
          pods.size() == 1 ? "the engine of pod " + pods.getFirst() + " keeps"
              : "the engines of %d pods, %s among them, keep".formatted(pods.size(), pods.getFirst());
      return Problem.warning(
          "%s blocks of %d tokens, and prompts of the model %s are cut into blocks of %d: nothing that is cached there"
              .formatted(named, kept, model, prepared) + " is recognised",
          "set block-size of the model to %d, or to another that fits into the blocks of all its engines, or start"
              .formatted(kept) + " these with blocks of " + prepared);
    }
  }

  /** One problem for each model and size, no more than a few. */
  static List<Problem> problems(Collection<PodSpec> pods, Collection<ModelConfig> models) {
    Map<String, ModelConfig> byName = new HashMap<>();
    for (ModelConfig model : models) {
      if (model.mode() == PromptMode.EXACT || model.mode() == PromptMode.ENGINE) {
        byName.put(model.name(), model);
        model.adapters().forEach(adapter -> byName.put(adapter, model));
      }
    }
    Map<Mismatch, List<String>> podsOf =
        new TreeMap<>(Comparator.comparing(Mismatch::model).thenComparingInt(Mismatch::kept));
    for (PodSpec pod : pods) {
      int kept = pod.engine().blockSize();
      pod.models().stream()
          .flatMap(name -> Stream.ofNullable(byName.get(name)))
          .filter(model -> kept % model.blockSize() != 0)
          .map(model -> new Mismatch(model.name(), model.blockSize(), kept))
          .distinct()
          .forEach(mismatch -> podsOf.computeIfAbsent(mismatch, _ -> new ArrayList<>()).add(pod.name()));
    }
    List<Problem> problems = new ArrayList<>();
    podsOf.entrySet().stream().limit(MAX_REPORTED).forEach(
        each -> problems.add(each.getKey().problem(each.getValue())));
    int more = podsOf.size() - MAX_REPORTED;
    if (more > 0) {
      problems.add(Problem.warning(
          "so it is with " + more + " more models and sizes of blocks", "see what engines keep at /admin/workers"));
    }
    return problems;
  }
}
