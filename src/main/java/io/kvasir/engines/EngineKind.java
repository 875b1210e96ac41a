package io.kvasir.engines;

/** The kinds of engines that can be told apart by what they answer over HTTP. */
public enum EngineKind {
  VLLM("vLLM"),
  SGLANG("SGLang"),
  TENSORRT_LLM("TensorRT-LLM"),
  /** llm-d's simulator of vLLM; it has no {@code /version}. */
  LLM_D_SIMULATOR("llm-d's simulator"),
  LLAMA_CPP("llama.cpp"),
  /** The frontend of NVIDIA Dynamo, which is itself a router before engines. */
  DYNAMO("Dynamo's frontend"),
  /** Whatever else has OpenAI's API. */
  UNKNOWN("an unknown engine");

  private final String label;

  EngineKind(String label) {
    this.label = label;
  }

  /** Whether engines of this kind share a prompt's blocks only once they have computed them. */
  public boolean sharesOnceComputed() {
    return this == SGLANG;
  }

  /** Whether engines of this kind report how much of their KV cache is in use, as it grows while they compute. */
  public boolean reportsCacheUse() {
    return switch (this) {
      case VLLM, SGLANG, LLM_D_SIMULATOR -> true;
      case TENSORRT_LLM, LLAMA_CPP, DYNAMO, UNKNOWN -> false;
    };
  }

  /** Whether engines of this kind know an adapter by its name behind the base model's only, {@code base:adapter}. */
  public boolean prefixesAdapters() {
    return this == SGLANG;
  }

  /** Its name as people write it, such as {@code vLLM}. */
  public String label() {
    return label;
  }
}
