package io.kvasir.prompt;

import io.kvasir.prompt.chat.EngineGroup;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.VllmVersion;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/** The engines of a model, as far as prompts depend on them. Thread-safe. */
final class KnownEngines {
  /** A conversation is prepared once for each. */
  private static final int MAX_PREPARATIONS = 4;

  private volatile List<EngineVersion> different = List.of(VllmVersion.NEWEST);

  /** Those that prepare prompts differently, that of most engines first; never empty. */
  List<EngineVersion> different() {
    return different;
  }

  /** How most of them prepare prompts. */
  EngineVersion most() {
    return different.getFirst();
  }

  /**
   * They are these from now on; returns whether prompts are prepared otherwise than before.
   *
   * @param versions that of most engines first; not empty
   */
  boolean learn(List<EngineVersion> versions) {
    SequencedMap<EngineGroup, EngineVersion> first = new LinkedHashMap<>();
    versions.forEach(version -> first.putIfAbsent(EngineGroup.of(version), version));
    List<EngineVersion> now = first.values().stream().limit(MAX_PREPARATIONS).toList();
    boolean changed = !now.equals(different);
    different = now;
    return changed;
  }
}
