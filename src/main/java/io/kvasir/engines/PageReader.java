package io.kvasir.engines;

/** Reads from the pages of one kind of engine what it is. Stateless. */
interface PageReader {
  /**
   * The engine's description.
   *
   * @param metrics its Prometheus page; empty when it has none
   */
  EngineDescription read(EnginePages pages, String metrics);

  /** The reader of a kind of engine. */
  static PageReader of(EngineKind kind) {
    return switch (kind) {
      case VLLM, LLM_D_SIMULATOR -> new VllmReader(kind);
      case SGLANG -> new SglangReader();
      case TENSORRT_LLM -> new TensorRtReader();
      case DYNAMO -> new DynamoReader();
      case LLAMA_CPP, UNKNOWN -> new PlainReader(kind);
    };
  }
}
