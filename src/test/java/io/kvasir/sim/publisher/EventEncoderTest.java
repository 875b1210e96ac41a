package io.kvasir.sim.publisher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.events.Recording;
import io.kvasir.sim.publisher.CacheEvent.Cleared;
import io.kvasir.sim.publisher.CacheEvent.Removed;
import io.kvasir.sim.publisher.CacheEvent.Stored;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.msgpack.core.MessagePack;
import org.msgpack.value.Value;
import org.msgpack.value.ValueFactory;

/** Bytes that msgspec wrote for the engines' own event classes. */
final class EventEncoderTest {
  private static final double TIME = 1723000000.5;
  private static final long A = 0x1122334455667788L;
  private static final long B = 0xFEDCBA9876543210L;
  private static final Stored TWO_BLOCKS =
      new Stored(null, new long[] {A, B}, new int[] {1, 2, 300, 70000, 5, 6, 7, 8}, 4, null, null, "GPU");
  private static final EventFormat ARRAY = new EventFormat(Encoding.VLLM_ARRAY, false, false);
  private static final EventFormat SGLANG = new EventFormat(Encoding.SGLANG, false, false);

  @Test
  void map_stored_isGolden() {
    assertThat(hex(EventFormat.VLLM, TIME, 0, TWO_BLOCKS))
        .isEqualTo(
            "93cb41d9acb930200000918ba474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657392cf1122334455667788cf"
                + "fedcba9876543210b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f696473980102cd012cce000111700506"
                + "0708aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0aa65787472"
                + "615f6b65797392c0c0a967726f75705f69647800b26b765f63616368655f737065635f6b696e64ae66756c6c5f617474656e"
                + "74696f6e00");
  }

  @Test
  void map_removedAndCleared_areGolden() {
    assertThat(hex(EventFormat.VLLM, 1723000001, 1, new Removed(new long[] {A}, "GPU")))
        .isEqualTo(
            "93cb41d9acb9304000009184a474797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391cf1122334455667788"
                + "a66d656469756da3475055a967726f75705f6964780001");
    assertThat(hex(EventFormat.VLLM, 1723000002, null, new Cleared()))
        .isEqualTo("93cb41d9acb9308000009181a474797065b0416c6c426c6f636b73436c6561726564c0");
  }

  @Test
  void array_isGolden() {
    assertThat(hex(ARRAY, TIME, 0, TWO_BLOCKS))
        .isEqualTo(
            "93cb41d9acb930200000919cab426c6f636b53746f72656492cf1122334455667788cffedcba9876543210c0980102cd012cce0001"
                + "11700506070804c0a3475055c092c0c000ae66756c6c5f617474656e74696f6ec000");
    assertThat(hex(ARRAY, 1723000001, 1, new Removed(new long[] {A}, "GPU")))
        .isEqualTo("93cb41d9acb9304000009194ac426c6f636b52656d6f76656491cf1122334455667788a34750550001");
    assertThat(hex(ARRAY, 1723000002, 0, new Cleared()))
        .isEqualTo("93cb41d9acb9308000009191b0416c6c426c6f636b73436c656172656400");
  }

  /** As SGLang 0.5.23 itself writes them. */
  @Test
  void sglang_isGolden() {
    Stored plain = new Stored(null, new long[] {0xeeddef0b82167eebL}, new int[] {1, 2, 3, 4}, 4, null, null, "GPU");
    assertThat(hex(SGLANG, TIME, 0, plain))
        .isEqualTo(
            "93cb41d9acb9302000009187a474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657391d3eeddef0b8216"
                + "7eebb1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f6964739401020304aa626c6f636b5f73697a6504a76c"
                + "6f72615f6964c0a66d656469756da347505500");
    Stored salted = new Stored(null, new long[] {5}, new int[] {1, 2}, 2, "poet", "tenant-a", "GPU");
    assertThat(hex(SGLANG, TIME, 0, salted))
        .isEqualTo(
            "93cb41d9acb9302000009189a474797065ab426c6f636b53746f726564ac626c6f636b5f6861736865739105b1706172656e"
                + "745f626c6f636b5f68617368c0a9746f6b656e5f696473920102aa626c6f636b5f73697a6502a76c6f72615f6964c0a66d65"
                + "6469756da3475055aa63616368655f73616c74a874656e616e742d61a96c6f72615f6e616d65a4706f657400");
    assertThat(hex(SGLANG, TIME, 0, new Removed(new long[] {5, 6}, "CPU_PINNED"), new Cleared()))
        .isEqualTo(
            "93cb41d9acb9302000009283a474797065ac426c6f636b52656d6f766564ac626c6f636b5f686173686573920506a66d6564"
                + "69756daa4350555f50494e4e454481a474797065b0416c6c426c6f636b73436c656172656400");
  }

  @Test
  void tensorRt_isGolden_whateverAdapterAndSalt() {
    EventFormat format = new EventFormat(Encoding.TENSORRT_LLM, false, false);
    Stored child = new Stored(B, new long[] {7}, new int[] {9, 10, 11, 12}, 4, "poet", "tenant-a", "GPU");
    assertThat(hex(format, TIME, 3, TWO_BLOCKS, child, new Removed(new long[] {B}, "GPU"), new Cleared()))
        .isEqualTo(
            "93cb41d9acb9302000009488a474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657392cf1122334455667788d3"
                + "fedcba9876543210b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f696473980102cd012cce000111700506"
                + "0708aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c088a4747970"
                + "65ab426c6f636b53746f726564ac626c6f636b5f6861736865739107b1706172656e745f626c6f636b5f68617368d3fedcba"
                + "9876543210a9746f6b656e5f69647394090a0b0caa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da347"
                + "5055a96c6f72615f6e616d65c083a474797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391d3fedcba"
                + "9876543210a66d656469756da347505581a474797065b0416c6c426c6f636b73436c656172656403");
  }

  @Test
  void sglang_runsOfEvents_areMerged() throws IOException {
    Value events =
        decoded(
            SGLANG,
            new Stored(null, new long[] {1}, new int[] {1, 2}, 2, null, null, "GPU"),
            new Stored(1L, new long[] {2}, new int[] {3, 4}, 2, null, null, "GPU"),
            new Stored(7L, new long[] {8}, new int[] {5, 6}, 2, null, null, "GPU"),
            new Removed(new long[] {3}, "GPU"),
            new Removed(new long[] {4}, "GPU"));

    assertThat(events.toJson()).contains("\"block_hashes\":[1,2],\"parent_block_hash\":null", "[8],", "[3,4]");
    assertThat(events.asArrayValue().size()).isEqualTo(3);
  }

  @Test
  void extraKeys_nameAdapterEverywhereAndSaltAtTheRoot() throws IOException {
    Value root = decoded(EventFormat.VLLM, stored(null, "poet", "tenant-a"));
    Value later = decoded(EventFormat.VLLM, stored(3L, "poet", "tenant-a"));

    assertThat(root.toJson()).contains("\"extra_keys\":[[\"poet\",\"tenant-a\"],[\"poet\"]]");
    assertThat(root.toJson()).contains("\"lora_name\":\"poet\"");
    assertThat(later.toJson()).contains("\"extra_keys\":[[\"poet\"],[\"poet\"]]");
  }

  /** Each batch of a model with a window, read and written again: the groups' events are as vLLM has them. */
  @Test
  void recordedBatchesOfGroups_areWrittenAsVllmWroteThem() throws IOException {
    int ofGroups = 0;
    for (JsonNode line : Recording.slidingWindow()) {
      if (!line.get("kind").asText().equals("event")) {
        continue;
      }
      byte[] payload = Recording.message(line).payload();
      List<Value> batch = MessagePack.newDefaultUnpacker(payload).unpackValue().asArrayValue().list();
      List<CacheEvent> events = new ArrayList<>();
      for (Value event : batch.get(1).asArrayValue()) {
        events.add(recorded(event.asMapValue().map()));
      }
      ofGroups += (int) events.stream().filter(CacheEvent.StoredInGroup.class::isInstance).count();
      byte[] written =
          new EventEncoder(EventFormat.VLLM)
              .encode(batch.get(0).asFloatValue().toDouble(), events, batch.get(2).asIntegerValue().toInt());
      assertThat(HexFormat.of().formatHex(written)).isEqualTo(HexFormat.of().formatHex(payload));
    }
    assertThat(ofGroups).isGreaterThan(200);
  }

  @Test
  void array_ofGroups_hasThemLast() throws IOException {
    CacheEvent.Group window = new CacheEvent.Group(1, "sliding_window", 256);
    assertThat(decoded(ARRAY, new CacheEvent.StoredInGroup(window, TWO_BLOCKS)).toJson())
        .endsWith(",1,\"sliding_window\",256]]");
    assertThat(decoded(ARRAY, new CacheEvent.RemovedFromGroup(2, new long[] {7}, "GPU")).toJson())
        .isEqualTo("[[\"BlockRemoved\",[7],\"GPU\",2]]");
    assertThatThrownBy(() -> hex(SGLANG, TIME, 0, new CacheEvent.RemovedFromGroup(2, new long[] {7}, "GPU")))
        .hasMessageContaining("no events of groups");
  }

  private static CacheEvent recorded(Map<Value, Value> event) {
    long[] keys = field(event, "block_hashes").asArrayValue().list().stream()
        .mapToLong(key -> key.asIntegerValue().toBigInteger().longValue()).toArray();
    int group = field(event, "group_idx").asIntegerValue().toInt();
    String medium = field(event, "medium").asStringValue().asString();
    if (field(event, "type").asStringValue().asString().equals("BlockRemoved")) {
      return group == 0 ? new Removed(keys, medium) : new CacheEvent.RemovedFromGroup(group, keys, medium);
    }
    Value parent = field(event, "parent_block_hash");
    List<Value> extra = keys.length == 0 ? List.of() : field(event, "extra_keys").asArrayValue().list();
    Stored stored = new Stored(
        parent.isNilValue() ? null : parent.asIntegerValue().toBigInteger().longValue(),
        keys,
        field(event, "token_ids").asArrayValue().list().stream()
            .mapToInt(token -> token.asIntegerValue().toInt()).toArray(),
        field(event, "block_size").asIntegerValue().toInt(),
        null,
        extra.isEmpty() || extra.getFirst().isNilValue()
            ? null : extra.getFirst().asArrayValue().get(0).asStringValue().asString(),
        medium);
    Value window = event.get(ValueFactory.newString("kv_cache_spec_sliding_window"));
    return group == 0
        ? stored
        : new CacheEvent.StoredInGroup(
            new CacheEvent.Group(
                group, field(event, "kv_cache_spec_kind").asStringValue().asString(),
                window == null ? null : window.asIntegerValue().toInt()),
            stored);
  }

  private static Value field(Map<Value, Value> event, String name) {
    return Objects.requireNonNull(event.get(ValueFactory.newString(name)));
  }

  @Test
  void byteKeys_are32BytesEndingInTheNumber() throws IOException {
    Value event = decoded(new EventFormat(Encoding.VLLM_ARRAY, true, false), TWO_BLOCKS).asArrayValue().get(0);

    byte[] key = event.asArrayValue().get(1).asArrayValue().get(1).asBinaryValue().asByteArray();
    assertThat(key).hasSize(32);
    assertThat(HexFormat.of().formatHex(key)).endsWith("fedcba9876543210");
  }

  @Test
  void zeroParent_standsForNone() throws IOException {
    EventFormat zero = new EventFormat(Encoding.VLLM_ARRAY, false, true);

    assertThat(decoded(zero, TWO_BLOCKS).toJson()).contains("],0,[1,2,");
    assertThat(decoded(zero, stored(3L, null, null)).toJson()).contains("],3,[1,2,");
  }

  @Test
  void tokens_above31Bits_areUnsigned() throws IOException {
    Stored stored = new Stored(null, new long[] {1}, new int[] {-1}, 1, null, null, "GPU");

    assertThat(decoded(EventFormat.VLLM, stored).toJson()).contains("\"token_ids\":[4294967295]");
  }

  private static Stored stored(@Nullable Long parent, @Nullable String lora, @Nullable String salt) {
    return new Stored(parent, new long[] {1, 2}, new int[] {1, 2, 3, 4}, 2, lora, salt, "GPU");
  }

  private static String hex(EventFormat format, double time, @Nullable Integer rank, CacheEvent... events) {
    return HexFormat.of().formatHex(new EventEncoder(format).encode(time, List.of(events), rank));
  }

  private static Value decoded(EventFormat format, CacheEvent... events) throws IOException {
    byte[] batch = new EventEncoder(format).encode(TIME, List.of(events), 0);
    return MessagePack.newDefaultUnpacker(batch).unpackValue().asArrayValue().get(1);
  }
}
