package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.Examination;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Whether the engines of a model have one version. */
final class VersionsCheck extends Check {
  VersionsCheck() {
    super("version", "Do all engines of a model have the same version?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    for (Map.Entry<String, List<EngineExam>> model : new TreeMap<>(examination.byModel()).entrySet()) {
      Set<String> versions =
          model.getValue().stream()
              .map(EngineExam::description)
              .filter(Objects::nonNull)
              .map(told -> told.identity().toString())
              .collect(Collectors.toCollection(TreeSet::new));
      if (versions.size() > 1) {
        found.warning(
            "model " + model.getKey(),
            "its engines are " + String.join(", ", versions),
            "Versions prepare conversations differently, so that the tokens of one may not be those of the other.",
            "Serve a model by one version, or finish the update.");
      }
    }
  }
}
