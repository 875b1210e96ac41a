package io.kvasir.engines;

import org.jspecify.annotations.Nullable;

/**
 * A model or LoRA adapter that an engine serves.
 *
 * @param name as requests call it
 * @param root the directory or repository that the engine loaded it from, null when it does not tell
 * @param parent the name of the model that an adapter belongs to, null for a model
 * @param contextLength tokens of a prompt and its answer together at most, null when the engine does not tell
 * @param tokenizer the directory or repository of its tokenizer where the engine tells that by itself, else null
 */
public record ServedModel(
    String name,
    @Nullable String root,
    @Nullable String parent,
    @Nullable Integer contextLength,
    @Nullable String tokenizer) {
  /** Whether it is a LoRA adapter. */
  public boolean isAdapter() {
    return parent != null;
  }

  /** The same with the place that the engine loaded it from, where that is not told of itself. */
  ServedModel withRoot(@Nullable String place) {
    return root == null ? new ServedModel(name, place, parent, contextLength, tokenizer) : this;
  }

  /** The same with the length that the engine allows, where that is not told of itself. */
  ServedModel withContextLength(@Nullable Integer length) {
    return contextLength == null ? new ServedModel(name, root, parent, length, tokenizer) : this;
  }

  /** The same with a tokenizer of its own. */
  ServedModel withTokenizer(@Nullable String place) {
    return new ServedModel(name, root, parent, contextLength, place);
  }
}
