package io.kvasir.engines;

import java.util.ArrayList;
import java.util.List;

/** Reads the pages of engines that tell no more than their models. */
final class PlainReader implements PageReader {
  private final EngineKind kind;

  PlainReader(EngineKind kind) {
    this.kind = kind;
  }

  @Override
  public EngineDescription read(EnginePages pages, String metrics) {
    List<Unknown> unknowns = new ArrayList<>();
    if (kind == EngineKind.UNKNOWN) {
      unknowns.add(new Unknown("kind", "Nothing it answers names vLLM, SGLang, TensorRT-LLM, llama.cpp or Dynamo; is"
          + " a proxy before it? Give the pods themselves as workers."));
    }
    unknowns.add(new Unknown("block size", "Set models[].block-size in the router's configuration."));
    unknowns.add(new Unknown(Unknown.EVENTS, kind == EngineKind.LLAMA_CPP
        ? "llama.cpp has none: leave events out, and the router learns from what it sends."
        : "Set events of the pod in the router's configuration, if the engine publishes any."));
    return new EngineDescription(
        pages.url(), pages.identity(), pages.servedModels(), CacheDescription.UNTOLD,
        kind == EngineKind.LLAMA_CPP ? new EventPublishing.Off() : new EventPublishing.Untold(),
        new LoadPublishing.Untold(), null, unknowns);
  }
}
