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

  /** The same, where its own length is not told, with that of the engine. */
  ServedModel withContextLength(@Nullable Integer engines) {
    return contextLength == null ? new ServedModel(name, root, parent, engines, tokenizer) : this;
  }

  /** The same with a tokenizer of its own. */
  ServedModel withTokenizer(@Nullable String place) {
    return new ServedModel(name, root, parent, contextLength, place);
  }
}
