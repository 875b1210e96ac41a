package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads TensorRT-LLM's pages. Its {@code /metrics} and {@code /kv_cache_events} give each entry once, to one reader,
 * and are not asked for.
 */
final class TensorRtReader implements PageReader {
  @Override
  public EngineDescription read(EnginePages pages, String metrics) {
    JsonNode info = pages.serverInfo();
    Integer blockSize = EnginePages.count(info.path("tokens_per_block"));
    List<Unknown> unknowns = new ArrayList<>();
    if (blockSize == null) {
      unknowns.add(new Unknown("block size", "Set models[].block-size as its kv_cache_config.tokens_per_block, which is"
          + " 32 unless set."));
    }
    unknowns.add(new Unknown(Unknown.EVENTS, "Set events of the pod: source = tensorrt with"
        + " kv_cache_config.event_buffer_max_size above 0; or zmq and plain-only = true with"
        + " kv_cache_config.kv_events_config, where it serves no adapters and gets no salts: those events leave out"
        + " both."));
    unknowns.add(new Unknown("ranks", "Set ranks of the pod as its attention data parallelism has."));
    unknowns.add(new Unknown(Unknown.ROLE, "Where it is for prefill or for decode only, set role of the pod."));
    return new EngineDescription(
        pages.url(), pages.identity(), pages.servedModels(),
        new CacheDescription(
            blockSize, null, null, null, info.path("kv_cache_hash_algo").textValue(), null),
        new EventPublishing.Untold(), new LoadPublishing.Untold(), null, unknowns);
  }
}
