package io.kvasir.cell;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How the engines of pods prepare prompts, as this node has learnt by asking them. Thread-safe. */
public final class Preparations {
  private volatile Map<String, String> byPod = Map.of();

  /** What is known from now on: the name of its preparation by a pod's name. */
  public void learnt(Map<String, String> preparations) {
    if (!preparations.equals(byPod)) {
      byPod = Map.copyOf(preparations);
    }
  }

  /** The name of a pod's preparation, null while it is not known. */
  public @Nullable String of(String pod) {
    return byPod.get(pod);
  }
}
