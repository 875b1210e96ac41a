package io.kvasir.events;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The decoder of batches in JSON, with the names that vLLM's msgpack maps have:
 *
 * <pre>{@code
 * {"seq": 12, "ts": 1723000000.5, "data_parallel_rank": 0, "events": [
 *   {"type": "BlockStored", "block_hashes": [1, 2], "parent_block_hash": null, "token_ids": [1, 2, 3, 4],
 *    "block_size": 2, "medium": "GPU", "lora_name": null},
 *   {"type": "BlockRemoved", "block_hashes": ["9f86d081884c7d65"], "medium": "GPU"},
 *   {"type": "AllBlocksCleared"}]}
 * }</pre>
 *
 * <p>{@code [ts, events, rank]} is read too, and an event by itself, which is a batch of one ({@code seq} and
 * {@code ts} then stand beside its own fields). A block hash is an integer of up to 64 bits, signed or unsigned, or
 * a string of hexadecimal digits, of which the last sixteen count. Faults name the field.
 *
 * <p>Any bytes give a {@link DecodedMessage}, never an exception. One thread at a time.
 */
final class JsonDecoder {
  /** More than any engine's batch has: of a tree, each takes some fifty bytes. */
  private static final long MAX_JSON_TOKENS = 2_000_000;

  private static final JsonMapper JSON =
      JsonMapper.builder(
              JsonFactory.builder()
                  .streamReadConstraints(StreamReadConstraints.builder().maxTokenCount(MAX_JSON_TOKENS).build())
                  .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  private final DecodedMessage.FaultCollector faults = new DecodedMessage.FaultCollector();
  private final JsonEvent event = new JsonEvent(faults);

  /** Decodes one batch; its own {@code seq} takes precedence over {@code sequence}. Never throws. */
  DecodedMessage decode(long sequence, byte[] payload) {
    return decode(sequence, payload, 0, payload.length);
  }

  /** Decodes the batch in a part of {@code payload}. Never throws. */
  DecodedMessage decode(long sequence, byte[] payload, int from, int length) {
    faults.clear();
    try {
      return batch(sequence, JSON.readTree(payload, from, length));
    } catch (StreamConstraintsException e) {
      faults.add(DecodeFault.MALFORMED, "more than is read: " + e.getOriginalMessage());
    } catch (JsonProcessingException e) {
      faults.add(
          DecodeFault.MALFORMED,
          "not valid JSON: %s at column %d".formatted(e.getOriginalMessage(), e.getLocation().getColumnNr()));
    } catch (IOException e) {
      throw new AssertionError("reading an array", e);
    } catch (WireException e) {
      faults.add(e.fault(), String.valueOf(e.getMessage()));
    }
    return faults.of(new KvBatch(sequence, 0, KvBatch.UNKNOWN_RANK, List.of()));
  }

  private DecodedMessage batch(long sequence, JsonNode tree) {
    if (tree.isArray()) {
      if (tree.size() < 2) {
        throw new WireException(DecodeFault.MALFORMED, "a batch of " + tree.size() + " fields, not [ts, events, rank]");
      }
      return batch(sequence, tree.get(0), tree.get(1), tree.get(2));
    }
    if (!tree.isObject()) {
      throw new WireException(DecodeFault.MALFORMED, "neither a batch {...} nor an event {...}");
    }
    long own = tree.has("seq") ? count(tree.get("seq"), Long.MAX_VALUE, "seq") : sequence;
    if (tree.has("type")) {
      List<KvEvent> read = new ArrayList<>(1);
      read("", tree, read);
      return faults.of(new KvBatch(own, time(tree.get("ts")), KvBatch.UNKNOWN_RANK, List.copyOf(read)));
    }
    for (String field : (Iterable<String>) tree::fieldNames) {
      switch (field) {
        case "seq", "ts", "events", "data_parallel_rank" -> {}
        default -> faults.add(DecodeFault.UNKNOWN_FIELD, "unknown field");
      }
    }
    return batch(own, tree.get("ts"), tree.get("events"), tree.get("data_parallel_rank"));
  }

  private DecodedMessage batch(
      long sequence, @Nullable JsonNode ts, @Nullable JsonNode events, @Nullable JsonNode dataParallelRank) {
    if (events == null || !events.isArray()) {
      throw new WireException(DecodeFault.MALFORMED, "events: has to be a list of events");
    }
    List<KvEvent> read = new ArrayList<>(events.size());
    for (int i = 0; i < events.size(); i++) {
      read("events[" + i + "]", events.get(i), read);
    }
    int rank =
        dataParallelRank == null || dataParallelRank.isNull()
            ? KvBatch.UNKNOWN_RANK
            : (int) count(dataParallelRank, Integer.MAX_VALUE, "data_parallel_rank");
    return faults.of(new KvBatch(sequence, time(ts), rank, List.copyOf(read)));
  }

  /** Reads an event; one that cannot be read is skipped as a whole, and the next one is tried. */
  private void read(String path, JsonNode tree, List<KvEvent> events) {
    try {
      KvEvent read = event.read(path, tree);
      if (read != null) {
        events.add(read);
      }
    } catch (WireException e) {
      faults.add(e.fault(), String.valueOf(e.getMessage()));
    }
  }

  private static long count(JsonNode node, long max, String field) {
    if (!node.isIntegralNumber() || !node.canConvertToLong() || node.longValue() < 0 || node.longValue() > max) {
      throw new WireException(
          DecodeFault.MALFORMED, field + ": has to be a whole number of at least 0, not " + JsonEvent.shown(node));
    }
    return node.longValue();
  }

  /** Seconds as microseconds; 0 where there are none. */
  private static long time(@Nullable JsonNode node) {
    double seconds = node == null || !node.isNumber() ? 0 : node.doubleValue();
    return seconds > 0 && seconds < 1e12 ? Math.round(seconds * 1e6) : 0;
  }
}
