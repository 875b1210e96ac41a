package io.kvasir.engines;

/** Reads the pages of one kind of engine. Stateless. */
interface DescriptionReader {
  /**
   * The engine's description.
   *
   * @param metrics its Prometheus page; empty when it has none
   */
  EngineDescription read(EngineAnswers answers, String metrics);

  /** The reader of a kind of engine. */
  static DescriptionReader of(EngineKind kind) {
    return switch (kind) {
      case VLLM, LLM_D_SIMULATOR -> new VllmReader(kind);
      case SGLANG -> new SglangReader();
      case TENSORRT_LLM -> new TensorRtReader();
      case DYNAMO -> new DynamoReader();
      case LLAMA_CPP, UNKNOWN -> new PlainReader(kind);
    };
  }
}
