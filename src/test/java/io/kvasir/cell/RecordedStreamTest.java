package io.kvasir.cell;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.events.Decoded;
import io.kvasir.events.EventDecoder;
import io.kvasir.events.Recording;
import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.WorkerBlocks;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A real vLLM's events, decoded and applied, predict what that vLLM reported of every request. */
final class RecordedStreamTest {
  private static final int BLOCK = 32;

  private final BlockIndex index = new BlockIndex(64, 64 << 20);
  private final WorkerBlocks blocks = index.open(0);
  private final EventApplier applier = new EventApplier(blocks, BLOCK);
  private final EventDecoder decoder = new EventDecoder();

  /**
   * vLLM publishes a reset of its cache only with the next step of its scheduler, so for the first request after
   * it (and for no other) the index is behind.
   */
  @Test
  void everyPrediction_isWhatTheEngineReported_butTheFirstAfterTheReset() throws IOException {
    List<Integer> wrong = new ArrayList<>();
    List<Integer> afterReset = new ArrayList<>();
    int requests = 0;
    int messages = 0;
    boolean reset = false;
    for (JsonNode line : Recording.lines()) {
      switch (line.get("kind").asText()) {
        case "request" -> {
          if (predicted(line) != line.get("cached_tokens").asInt()) {
            wrong.add(requests);
          }
          if (reset) {
            afterReset.add(requests);
          }
          reset = false;
          requests++;
        }
        case "event" -> {
          apply(line);
          messages++;
        }
        case "reset" -> reset = true;
        default -> assertThat(line.get("kind").asText()).isEqualTo("replay");
      }
    }
    assertThat(requests).isEqualTo(120);
    assertThat(messages).isEqualTo(251);
    assertThat(wrong).isEqualTo(afterReset).hasSize(1);
    EventState state = applier.state();
    assertThat(state.lastSequence()).isEqualTo(250);
    assertThat(state.applied()).isEqualTo(224 + 187);
    assertThat(state.parked()).isZero();
    assertThat(state.ignored()).isEqualTo(new EventState.Ignored(0, 0, 0, 0, 0, 0));
    assertThat(state.blockSize()).isEqualTo(BLOCK);
  }

  private void apply(JsonNode line) {
    Recording.Message message = Recording.message(line);
    Decoded decoded = decoder.decode(message.sequence(), message.payload());
    assertThat(decoded.faults()).isEmpty();
    applier.apply(decoded.batch(), 0);
  }

  private int predicted(JsonNode request) {
    int[] prompt = new int[request.get("prompt").size()];
    for (int i = 0; i < prompt.length; i++) {
      prompt[i] = request.get("prompt").get(i).asInt();
    }
    JsonNode salt = request.get("cache_salt");
    long[] hashes = new long[prompt.length / BLOCK];
    BlockHash.in(null, salt.isNull() ? null : salt.asText())
        .chain(BlockHash.NONE, prompt, 0, prompt.length, BLOCK, hashes, 0);
    int depth = index.search(new Chain(hashes, BLOCK), new long[] {1}, new int[64]);
    // An engine computes the last token itself, however much it holds.
    return Math.min(depth * BLOCK, (prompt.length - 1) / BLOCK * BLOCK);
  }
}
