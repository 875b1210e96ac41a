package io.kvasir.cell;

import io.kvasir.http.ApiPath;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What this node has learnt of pods' engines by asking them, however the pods are described. Thread-safe. */
public final class LearntEngines {
  private volatile Map<String, LearntEngine> byPod = Map.of();

  /**
   * What is known of an engine.
   *
   * @param preparation the name of how it prepares prompts, null while that is not known
   * @param sharesOnceComputed whether engines of its kind share a prompt's blocks only once they have computed them
   * @param reportsCacheUse whether engines of its kind report how much of their KV cache is in use, which grows as they
   *     compute: where that and all requests stand still, so does the engine
   * @param prefixesAdapters whether engines of its kind know a LoRA adapter by its name behind the base model's only
   * @param blockSize tokens in one of its KV blocks, 0 while that is not known
   * @param splitApis the APIs beside chats and completions whose requests it can share with another, one computing the
   *     prompt and the other the answer
   * @param models what it tells of the models and LoRA adapters that it serves, by their names
   */
  public record LearntEngine(
      @Nullable String preparation, boolean sharesOnceComputed, boolean reportsCacheUse, boolean prefixesAdapters,
      int blockSize, Set<ApiPath> splitApis, Map<String, LearntModel> models) {
    /** Nothing. */
    public static final LearntEngine UNKNOWN = new LearntEngine(null, false, false, false, 0, Set.of(), Map.of());
  }

  /**
   * What an engine tells of a model or LoRA adapter.
   *
   * @param root the directory or repository that it was loaded from, null when it does not tell
   * @param parent the model that an adapter belongs to, null for a model
   * @param contextLength tokens of a prompt and its answer together at most, 0 when it does not tell
   */
  public record LearntModel(@Nullable String root, @Nullable String parent, int contextLength) {}

  /** What is known from now on, by the pods' names. */
  public void replace(Map<String, LearntEngine> engines) {
    if (!engines.equals(byPod)) {
      byPod = Map.copyOf(engines);
    }
  }

  /** What is known of a pod's engine. */
  public LearntEngine of(String pod) {
    return byPod.getOrDefault(pod, LearntEngine.UNKNOWN);
  }
}
