package io.kvasir.cell.events;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.events.DecodedMessage;
import io.kvasir.events.EventDecoder;
import io.kvasir.events.FaultyChannel;
import io.kvasir.events.FaultyChannel.Faults;
import io.kvasir.events.Recording;
import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.WorkerBlocks;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** A real engine's events, decoded and applied, predict what that engine reported of every request. */
final class RecordedStreamTest {
  private static final int BLOCK = 32;
  private static final int STORMS = Integer.getInteger("kvasir.test.recorded.runs", 60);

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

  /** Of 150 requests, most of which find what a window lets them go on from, and not what the prefix has. */
  @Test
  void slidingWindow_everyPrediction_isWhatTheEngineReported() throws IOException {
    assertThat(shortened(Recording.slidingWindow())).isGreaterThan(40);
  }

  /** The same of states. */
  @Test
  void state_everyPrediction_isWhatTheEngineReported() throws IOException {
    assertThat(shortened(Recording.state())).isGreaterThan(40);
  }

  /** Of a hybrid model's requests, those that find less than the prefix. */
  private int shortened(List<JsonNode> recording) throws IOException {
    int requests = 0;
    int shortened = 0;
    for (JsonNode line : recording) {
      if (line.get("kind").asText().equals("request")) {
        long[] hashes = hashes(line);
        int depth = index.search(new Chain(hashes, BLOCK), new long[] {1}, new int[64]);
        CacheGroups groups = applier.groups();
        int boundary = groups == null ? depth : groups.resumable(new Chain(hashes, BLOCK), depth, depth);
        assertThat(cached(line, boundary)).as("request %d", requests).isEqualTo(line.get("cached_tokens").asInt());
        shortened += boundary < depth ? 1 : 0;
        requests++;
      } else {
        apply(line);
      }
    }
    assertThat(requests).isEqualTo(150);
    return shortened;
  }

  @Test
  void sglang_everyPrediction_isWhatTheEngineReported() throws IOException {
    int page = 16;
    int requests = 0;
    int found = 0;
    for (JsonNode line : Recording.sglang()) {
      if (line.get("kind").asText().equals("request")) {
        int depth = index.search(new Chain(hashes(line, page), page), new long[] {1}, new int[64]);
        int cached = line.get("cached_tokens").asInt();
        assertThat(cached(line, depth, page)).as("request %d", requests).isEqualTo(cached);
        found += cached > 0 ? 1 : 0;
        requests++;
      } else {
        apply(line);
      }
    }
    assertThat(requests).isEqualTo(150);
    assertThat(found).isGreaterThan(130);
    assertThat(applier.state().onceComputed()).isTrue();
    assertThat(applier.state().evicted()).isPositive();
    assertThat(applier.state().parked()).isZero();
  }

  /**
   * The same messages dropped, doubled, swapped and cut at random, and replays that lose some again. Whenever the
   * worker is not marked and has the last message, every prediction is what the engine reported; so it is for every
   * request once the engine was asked again.
   */
  @Test
  void faultyTransport_predictionsAreExact_orTheWorkerIsMarked() throws IOException {
    List<JsonNode> lines = Recording.lines();
    int exact = 0;
    int marked = 0;
    for (int seed = 0; seed < STORMS; seed++) {
      Storm storm = new Storm(seed);
      for (JsonNode line : lines) {
        storm.take(line);
      }
      storm.calm();
      exact += storm.exact;
      marked += storm.marked;
    }
    assertThat(exact).isGreaterThan(20 * STORMS);
    assertThat(marked).isGreaterThan(10 * STORMS);
  }

  /** A worker of its own behind a faulty channel, beside one that misses nothing. */
  private static final class Storm {
    private final String name;
    private final SplittableRandom random;
    private final RecordedStreamTest faultless = new RecordedStreamTest();
    private final RecordedStreamTest behind = new RecordedStreamTest();
    private final FaultyChannel channel;
    private final List<JsonNode> requests = new ArrayList<>();
    private boolean reset;
    private int exact;
    private int marked;

    Storm(int seed) {
      name = "seed " + seed;
      random = new SplittableRandom(seed);
      channel =
          new FaultyChannel(random, new Faults(0.2, true, 10_000), batch -> behind.applier.apply(batch, 1));
      channel.connect();
    }

    void take(JsonNode line) {
      switch (line.get("kind").asText()) {
        case "event" -> {
          faultless.apply(line);
          channel.publish(Recording.message(line).payload());
        }
        case "request" -> {
          ask(line);
          requests.add(line);
          reset = false;
        }
        case "reset" -> reset = true;
        default -> {}
      }
      if (random.nextInt(60) == 0) {
        channel.disconnect();
        channel.connect();
      }
      for (int i = random.nextInt(8); i > 0; i--) {
        channel.step();
      }
    }

    private void ask(JsonNode request) {
      EventState state = behind.applier.state();
      if (state.suspect()) {
        marked++;
      } else if (state.lastSequence() == channel.lastPublished() && !reset) {
        assertThat(behind.predicted(request)).as(name).isEqualTo(request.get("cached_tokens").asInt());
        exact++;
      }
    }

    void calm() {
      channel.calm();
      if (behind.applier.state().lastSequence() != channel.lastPublished() || behind.applier.state().suspect()) {
        // Nothing came after the last message to show that it was lost, or the engine was asked in vain.
        behind.applier.reset();
        channel.resubscribe();
      }
      assertThat(behind.applier.state().lastSequence()).as(name).isEqualTo(channel.lastPublished());
      assertThat(behind.applier.state().suspect()).as(name).isFalse();
      for (JsonNode request : requests) {
        assertThat(behind.predicted(request)).as(name).isEqualTo(faultless.predicted(request));
      }
      assertThat(behind.blocks.size()).as(name).isEqualTo(faultless.blocks.size());
    }
  }

  private void apply(JsonNode line) {
    Recording.Message message = Recording.message(line);
    DecodedMessage decoded = decoder.decode(message.sequence(), message.payload());
    assertThat(decoded.faults()).isEmpty();
    applier.apply(decoded.batch(), 0);
  }

  private int predicted(JsonNode request) {
    return cached(request, index.search(new Chain(hashes(request), BLOCK), new long[] {1}, new int[64]));
  }

  private static long[] hashes(JsonNode request) {
    return hashes(request, BLOCK);
  }

  private static long[] hashes(JsonNode request, int block) {
    int[] prompt = new int[request.get("prompt").size()];
    for (int i = 0; i < prompt.length; i++) {
      prompt[i] = request.get("prompt").get(i).asInt();
    }
    JsonNode salt = request.get("cache_salt");
    long[] hashes = new long[prompt.length / block];
    BlockHash.in(null, salt.isNull() ? null : salt.asText())
        .chain(BlockHash.NONE, prompt, 0, prompt.length, block, hashes, 0);
    return hashes;
  }

  /** An engine computes the last token itself, however much it holds. */
  private static int cached(JsonNode request, int depth) {
    return cached(request, depth, BLOCK);
  }

  private static int cached(JsonNode request, int depth, int block) {
    return Math.min(depth * block, (request.get("prompt").size() - 1) / block * block);
  }
}
