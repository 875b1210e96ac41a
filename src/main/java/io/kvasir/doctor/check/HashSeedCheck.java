package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.ProbeExam;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineKind;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Whether the engines of a model name equal blocks alike. The router does not mind; what they share does. */
final class HashSeedCheck extends Check {
  HashSeedCheck() {
    super("hash-seed", "Do the engines of a model hash equal blocks alike?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    for (Map.Entry<String, List<EngineExam>> model : new TreeMap<>(examination.byModel()).entrySet()) {
      Map<String, Long> keys = new HashMap<>();
      for (EngineExam engine : model.getValue()) {
        ProbeExam probe = engine.probe();
        EngineDescription told = engine.description();
        Long key = probe == null || probe.events() == null ? null : probe.events().key();
        if (key == null || probe == null || told == null || told.identity().kind() != EngineKind.VLLM) {
          continue;
        }
        // Equal prompts were sent to engines with blocks of one size.
        Long other = keys.putIfAbsent(probe.blockSize() + " " + told.cache().hashAlgorithm(), key);
        if (other != null && !other.equals(key)) {
          found.note(
              "model " + model.getKey(), "its engines hash equal blocks differently, such as " + engine.target(),
              "The router does not mind; LMCache, shared storage and lookups by hash find nothing across engines.",
              "Start all of them with the same PYTHONHASHSEED, such as 0, and --prefix-caching-hash-algo.");
          break;
        }
      }
    }
  }
}
