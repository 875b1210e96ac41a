package io.kvasir.events;

/**
 * An extra key: what an engine mixed into a block's hash beside its tokens. Engines send these untyped, so a bare
 * string may name a LoRA adapter, a cache salt or (older vLLM) a multimodal item: the event's other fields decide.
 */
public sealed interface ExtraKey {
  /** A bare string. */
  record Name(String text) implements ExtraKey {}

  /**
   * A multimodal item that overlaps the block.
   *
   * @param id the engine's content-derived identifier
   * @param offset where the item starts, in tokens from the block's start; may be negative
   */
  record Item(String id, long offset) implements ExtraKey {}

  /**
   * Bytes: the digest of prompt embeddings, or the encoded form of a key of an unknown kind.
   *
   * @param bytes never changed after construction
   */
  record Digest(byte[] bytes) implements ExtraKey {}
}
