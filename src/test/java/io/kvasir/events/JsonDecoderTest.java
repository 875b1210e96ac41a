package io.kvasir.events;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.events.KvEvent.Spec;
import io.kvasir.index.Tier;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class JsonDecoderTest {
  private final JsonDecoder decoder = new JsonDecoder();

  @Test
  void aBatch_hasWhatTheMsgpackOneHas() {
    DecodedMessage decoded =
        decode(
            """
            {"seq": 7, "ts": 1723000000.5, "data_parallel_rank": 3, "events": [
              {"type": "BlockStored", "block_hashes": [1234605616436508552, 18364758544493064720],
               "parent_block_hash": null, "token_ids": [1, 2, 300, 70000, 5, 6, 7, 4294967295], "block_size": 4,
               "lora_id": null, "medium": "GPU", "lora_name": null, "extra_keys": [null, ["salt", ["img", -2]]],
               "group_idx": 0, "kv_cache_spec_kind": "full_attention"},
              {"type": "BlockRemoved", "block_hashes": [-1], "medium": "cpu_pinned", "group_idx": 1},
              {"type": "AllBlocksCleared"}]}
            """);
    assertThat(decoded.faults()).isEmpty();
    KvBatch batch = decoded.batch();
    assertThat(batch.sequence()).isEqualTo(7);
    assertThat(batch.publishedAt()).isEqualTo(1_723_000_000_500_000L);
    assertThat(batch.rank()).isEqualTo(3);
    KvEvent.Stored stored = (KvEvent.Stored) batch.events().getFirst();
    assertThat(stored.root()).isTrue();
    assertThat(stored.keys()).containsExactly(0x1122334455667788L, 0xFEDCBA9876543210L);
    assertThat(stored.tokens()).containsExactly(1, 2, 300, 70000, 5, 6, 7, -1);
    assertThat(stored.blockSize()).isEqualTo(4);
    assertThat(stored.spec()).isEqualTo(Spec.FULL);
    assertThat(stored.group()).isZero();
    assertThat(stored.extraKeys())
        .containsExactly(List.of(), List.of(new ExtraKey.Name("salt"), new ExtraKey.Item("img", -2)));
    KvEvent.Removed removed = (KvEvent.Removed) batch.events().get(1);
    assertThat(removed.keys()).containsExactly(-1L);
    assertThat(removed.tier()).isEqualTo(Tier.HOST);
    assertThat(removed.group()).isEqualTo(1);
    assertThat(batch.events().get(2)).isInstanceOf(KvEvent.Cleared.class);
  }

  @Test
  void keys_mayBeNumbersOrDigests_asInMsgpack() {
    KvEvent.Removed removed =
        (KvEvent.Removed)
            decode(
                    """
                    {"events": [{"type": "BlockRemoved", "block_hashes":
                      ["0x0102030405060708", "ff", "000102030405060708090a0b0c0d0e0f", 18446744073709551615]}]}
                    """)
                .batch()
                .events()
                .getFirst();
    assertThat(removed.keys()).containsExactly(0x0102030405060708L, 0xffL, 0x08090a0b0c0d0e0fL, -1L);
    assertThat(removed.tier()).isEqualTo(Tier.DEVICE);
  }

  @Test
  void arraysAndSingleEvents_areBatchesToo() {
    assertThat(decode("[5, [{\"type\": \"AllBlocksCleared\"}], null]").batch().events()).hasSize(1);
    KvBatch single = decode("{\"type\": \"AllBlocksCleared\", \"seq\": 4, \"ts\": 1}").batch();
    assertThat(single.sequence()).isEqualTo(4);
    assertThat(single.publishedAt()).isEqualTo(1_000_000);
    assertThat(single.events()).hasSize(1);
  }

  @Test
  void parentZero_pairsAndSalt_areUnderstood() {
    KvEvent.Stored stored =
        (KvEvent.Stored)
            decode(
                    """
                    {"events": [{"type": "BlockStored", "block_hashes": [9], "parent_block_hash": 0,
                      "token_ids": [[1, 2], [3, 4]], "block_size": 2, "cache_salt": "tenant", "lora_id": 3,
                      "locality": "REMOTE"}]}
                    """)
                .batch()
                .events()
                .getFirst();
    assertThat(stored.root()).isTrue();
    assertThat(stored.tokens()).containsExactly(1, 3);
    assertThat(stored.lookahead().tokens()).containsExactly(4);
    assertThat(stored.cacheSalt()).isEqualTo("tenant");
    assertThat(stored.lora()).isEqualTo("lora id 3");
    assertThat(stored.tier()).isEqualTo(Tier.REMOTE);
  }

  @Test
  void lookahead_isUnderstood_andCheckedLikeTheRest() {
    String event =
        """
        {"type": "BlockStored", "block_hashes": [8, 9], "token_ids": [1, 2, 3, 4], "block_size": 2,
          "lookahead_token_ids": %s}
        """;
    KvEvent.Stored stored = (KvEvent.Stored) decode(event.formatted("[[3], [7]]")).batch().events().getFirst();
    assertThat(stored.lookahead().tokens()).containsExactly(3, 7);
    assertThat(stored.lookahead().least()).isEqualTo(1);
    KvEvent.Stored two = (KvEvent.Stored) decode(event.formatted("[[3, 4], [7, 8]]")).batch().events().getFirst();
    assertThat(two.lookahead().least()).isEqualTo(2);
    assertThat(decode(event.formatted("[[3]]")).detail())
        .isEqualTo(
            "lookahead_token_ids: has to be a list with a list of token ids for each block, not [[3]]");
    assertThat(decode(event.formatted("[[3], []]")).detail())
        .startsWith("lookahead_token_ids[1][0]: has to be a token id");
  }

  @Test
  void faults_nameTheField_andTheRestIsRead() {
    DecodedMessage decoded =
        decode(
            """
            {"events": [
              {"type": "BlockStored", "block_hashes": [1], "token_ids": [1, "two"], "block_size": 2},
              {"type": "BlockRemoved", "block_hashes": [1]},
              {"type": "SomethingNew"}]}
            """);
    assertThat(decoded.intact()).isFalse();
    assertThat(decoded.detail())
        .isEqualTo("events[0].token_ids[1]: has to be a token id of at most 32 bits, not \"two\"");
    assertThat(decoded.batch().events()).hasSize(1);
    assertThat(decoded.faults()).containsKeys(DecodeFault.MALFORMED, DecodeFault.UNKNOWN_EVENT);
    assertThat(decode("{\"events\": 3}").detail()).startsWith("events: has to be a list");
    assertThat(decode("{\"type\": 3}").detail()).startsWith("type: has to be BlockStored");
    assertThat(decode("{\"events\": [{\"type\": \"BlockRemoved\", \"block_hashes\": [1.5]}]}").detail())
        .startsWith("events[0].block_hashes[0]: has to be an integer");
    assertThat(decode("{} {}").detail()).startsWith("not valid JSON");
    assertThat(decode("[".repeat(1001)).detail()).contains("nesting depth (1001)");
    assertThat(decode("[" + "[],".repeat(1_000_000) + "1]").detail()).contains("Token count");
  }

  @Test
  void anyBytes_giveSomething() {
    Random random = new Random(11);
    byte[] good =
        "{\"seq\":1,\"events\":[{\"type\":\"BlockRemoved\",\"block_hashes\":[1,\"ff\"],\"medium\":\"GPU\"}]}"
            .getBytes(UTF_8);
    for (int i = 0; i < 20_000; i++) {
      byte[] bytes = good.clone();
      for (int j = 0; j < 1 + i % 4; j++) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(128);
      }
      assertThat(decoder.decode(3, bytes)).isNotNull();
    }
  }

  private DecodedMessage decode(String text) {
    return decoder.decode(KvBatch.UNSEQUENCED, text.getBytes(UTF_8));
  }
}
