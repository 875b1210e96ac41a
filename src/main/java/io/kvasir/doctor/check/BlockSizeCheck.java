package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.engines.EngineDescription;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/** Whether router and engine count in the same blocks, or in such as fit into the engine's, which the router cuts. */
final class BlockSizeCheck extends EngineCheck {
  BlockSizeCheck() {
    super("block-size", "Are the router's blocks those of the engine and its events, or do they fit into these?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    Integer ours = engine.target().blockSize();
    Set<Integer> theirs = new TreeSet<>();
    if (told.cache().blockSize() != null) {
      theirs.add(Objects.requireNonNull(told.cache().blockSize()));
    }
    engine.seen().forEach(seen -> theirs.addAll(seen.blockSizes()));
    if (ours == null || theirs.isEmpty() || theirs.stream().anyMatch(size -> size % ours == 0)) {
      return;
    }
    Integer size = theirs.iterator().next();
    found.error(
        engine.target(), "the router counts blocks of " + ours + " tokens, the engine has blocks of " + size,
        "No block of a prompt is ever found in the engine's cache, and routing acts like round robin.",
        "Set models[].block-size = " + size + " or to a part of it, or start the engine with --block-size " + ours
            + " (SGLang: --page-size).");
  }
}
