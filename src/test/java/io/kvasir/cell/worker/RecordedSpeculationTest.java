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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Real engines that draft with EAGLE: their events, decoded and applied, predict what they reported of requests that
 * part within blocks and at their ends, are whole blocks long, repeat others and go on from their answers. Those of
 * hybrid models, with states or windows beside full attention, are of vLLM's own cache manager and scheduler without a
 * model, with 160 blocks of 16 tokens, so that they also evict.
 */
final class RecordedSpeculationTest {
  @ParameterizedTest
  @CsvSource({
    "vllm-0.32.0-eagle, 32, true, 39", "vllm-0.33.0-eagle, 32, false, 39", "sglang-0.5.23-eagle-16, 16, false, 33",
    "sglang-0.5.23-eagle-1, 1, false, 33", "vllm-0.32.0-state-eagle, 16, true, 150",
    "vllm-0.33.0-state-eagle, 16, false, 150", "vllm-0.32.0-window-eagle, 16, true, 150",
    "vllm-0.33.0-window-eagle, 16, false, 150"
  })
  void everyPrediction_isWhatTheEngineReported(String name, int blockSize, boolean recomputes, int count)
      throws IOException {
    BlockIndex index = new BlockIndex(64, 64 << 20);
    EventApplier applier = new EventApplier(index.open(0), blockSize);
    EventDecoder decoder = new EventDecoder();
    LastBlock lastBlock = new LastBlock(new ChangeCounter());
    int learnt = 0;
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
      CacheGroups groups = applier.groups();
      boolean hybrid = groups != null && groups.isHybrid();
      int found = found(recomputes, hybrid, groups, chain, depth, prompt.length);
      assertThat(found).as("request %d of %d tokens", requests, prompt.length)
          .isEqualTo(line.get("cached_tokens").asInt());
      // As its worker learns it, by promises that are kept or not.
      boolean known = lastBlock.isRecomputed();
      int promised = found(known, hybrid, groups, chain, depth, prompt.length);
      if (promised > 0 && lastBlock.answered(promised + (known ? blockSize : 0), found, blockSize)) {
        learnt++;
      }
      requests++;
      hits += found > 0 ? 1 : 0;
    }
    assertThat(requests).isEqualTo(count);
    assertThat(hits).isGreaterThan(count / 2);
    assertThat(learnt).as("changes of mind").isEqualTo(recomputes ? 1 : 0);
    CacheGroups groups = applier.groups();
    assertThat(groups != null && groups.sharesByLookahead()).isNotEqualTo(recomputes);
  }

  private static int found(
      boolean recomputes, boolean hybrid, @Nullable CacheGroups groups, Chain chain, int depth, int tokens) {
    int most = (recomputes ? Recomputation.ofLastBlock(chain, hybrid, 1) : Recomputation.NONE).of(depth);
    int resumable = groups == null ? most : groups.resumable(chain, most, most);
    return Math.min(resumable, (tokens - 1) / chain.blockSize()) * chain.blockSize();
  }
}
