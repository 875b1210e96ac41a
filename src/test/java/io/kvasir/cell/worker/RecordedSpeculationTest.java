package io.kvasir.cell.worker;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.cell.events.CacheGroups;
import io.kvasir.cell.events.EventApplier;
import io.kvasir.events.EventDecoder;
import io.kvasir.events.Recording;
import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import java.io.IOException;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Real engines that draft with EAGLE: their events, decoded and applied, predict what they reported of requests that
 * part within blocks and at their ends, are whole blocks long, repeat others and go on from their answers.
 */
final class RecordedSpeculationTest {
  @ParameterizedTest
  @CsvSource({
    "vllm-0.32.0-eagle, 32, true, 39", "vllm-0.33.0-eagle, 32, false, 39", "sglang-0.5.23-eagle-16, 16, false, 33",
    "sglang-0.5.23-eagle-1, 1, false, 33"
  })
  void everyPrediction_isWhatTheEngineReported(String name, int blockSize, boolean recomputes, int count)
      throws IOException {
    BlockIndex index = new BlockIndex(64, 64 << 20);
    EventApplier applier = new EventApplier(index.open(0), blockSize);
    EventDecoder decoder = new EventDecoder();
    int requests = 0;
    int hits = 0;
    for (JsonNode line : Recording.lines(name)) {
      if (line.get("kind").asText().equals("event")) {
        Recording.Message message = Recording.message(line);
        applier.apply(decoder.decode(message.sequence(), message.payload()).batch(), 0);
        continue;
      }
      JsonNode ids = line.get("prompt");
      int[] prompt = IntStream.range(0, ids.size()).map(i -> ids.get(i).asInt()).toArray();
      Chain chain = Chain.of(BlockHash.in(null, line.path("cache_salt").textValue()), prompt, blockSize);
      int depth = index.search(chain, new long[] {1}, new int[64]);
      int most = (recomputes ? Recomputation.ofLastBlock(chain) : Recomputation.NONE).of(depth);
      CacheGroups groups = applier.groups();
      int resumable = groups == null ? most : groups.resumable(chain, most, most);
      int found = Math.min(resumable, (prompt.length - 1) / blockSize) * blockSize;
      assertThat(found).as("request %d of %d tokens", requests, prompt.length)
          .isEqualTo(line.get("cached_tokens").asInt());
      requests++;
      hits += found > 0 ? 1 : 0;
    }
    assertThat(requests).isEqualTo(count);
    assertThat(hits).isGreaterThan(count / 2);
    CacheGroups groups = applier.groups();
    assertThat(groups != null && groups.sharesByLookahead()).isNotEqualTo(recomputes);
  }
}
