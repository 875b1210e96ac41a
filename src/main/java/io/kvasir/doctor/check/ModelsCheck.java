package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.ServedModel;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Whether engines serve the models that the router sends them requests for. */
final class ModelsCheck extends EngineCheck {
  ModelsCheck() {
    super("models", "Does every engine serve the models and LoRA adapters that the router expects of it?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    Set<String> served = told.models().stream().map(ServedModel::name).collect(Collectors.toSet());
    Set<String> missing = new TreeSet<>(engine.target().models());
    missing.removeAll(served);
    if (!missing.isEmpty()) {
      found.error(
          engine.target(),
          "it does not serve " + String.join(", ", missing) + "; it has " + String.join(", ", new TreeSet<>(served)),
          "It answers 404 to requests for them.",
          "Correct pods[].models, or start the engine with --served-model-name "
              + String.join(" ", missing) + " (for a LoRA adapter: --lora-modules).");
    }
  }
}
