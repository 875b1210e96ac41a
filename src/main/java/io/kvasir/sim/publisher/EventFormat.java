package io.kvasir.sim.publisher;

/**
 * How an engine writes its events.
 *
 * @param encoding the events' encoding
 * @param byteKeys keys as 32-byte strings whose last eight are the number, as vLLM does with
 *     {@code VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES=0}; else as numbers
 * @param zeroParent a first block's parent is 0, as llm-d's simulator writes it; else nil
 */
public record EventFormat(Encoding encoding, boolean byteKeys, boolean zeroParent) {
  /** As vLLM writes today. */
  public static final EventFormat VLLM = new EventFormat(Encoding.VLLM_MAP, false, false);

  /** The shapes in the field. */
  public enum Encoding {
    /** vLLM 0.24 and later: events are maps. */
    VLLM_MAP,
    /** vLLM 0.22 and 0.23: events are arrays of twelve. */
    VLLM_ARRAY,
    /** TensorRT-LLM ({@code kv_events_config}): maps of few fields, keys signed, neither adapters nor salts. */
    TENSORRT_LLM,
    /** SGLang since 0.5.23: maps without what is not there, keys signed, runs of stores and removals merged. */
    SGLANG
  }
}
