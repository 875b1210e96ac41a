package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.events.KvEvent.Cleared;
import io.kvasir.events.KvEvent.Removed;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.Tier;
import java.io.IOException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/** Golden messages of vLLM and SGLang, and what decoding owes to messages that are none. */
final class EventDecoderTest {
  private static final String MAP_STORED =
      "93cb41d9acb930200000918ba474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657392cf1122334455667788"
          + "cffedcba9876543210b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f696473980102cd012cce0001117005"
          + "060708aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0aa657874"
          + "72615f6b65797392c0c0a967726f75705f69647800b26b765f63616368655f737065635f6b696e64ae66756c6c5f61747465"
          + "6e74696f6e00";
  private static final String MAP_REMOVED =
      "93cb41d9acb9304000009184a474797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391cf11223344556677"
          + "88a66d656469756da3475055a967726f75705f6964780001";
  private static final String MAP_CLEARED =
      "93cb41d9acb9308000009181a474797065b0416c6c426c6f636b73436c6561726564c0";
  private static final String ARRAY_STORED =
      "93cb41d9acb930200000919cab426c6f636b53746f72656492cf1122334455667788cffedcba9876543210c0980102cd012cce00"
          + "0111700506070804c0a3475055c092c0c000ae66756c6c5f617474656e74696f6ec000";
  private static final String ARRAY_REMOVED =
      "93cb41d9acb9304000009194ac426c6f636b52656d6f76656491cf1122334455667788a34750550001";
  private static final String ARRAY_CLEARED = "93cb41d9acb9308000009191b0416c6c426c6f636b73436c656172656400";
  private static final String MAP_BYTES =
      "93cb41d9acb930c00000918da474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657391c42000010203040506"
          + "0708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fb1706172656e745f626c6f636b5f68617368cf112233445566"
          + "7788a9746f6b656e5f69647394090a0b0caa626c6f636b5f73697a6504a76c6f72615f696407a66d656469756da3435055a9"
          + "6c6f72615f6e616d65a76d792d6c6f7261aa65787472615f6b6579739194a76d792d6c6f726192a6696d67736861fda47361"
          + "6c74c40401010101a967726f75705f69647801b26b765f63616368655f737065635f6b696e64ae736c6964696e675f77696e"
          + "646f77bc6b765f63616368655f737065635f736c6964696e675f77696e646f77cd0400a86c6f63616c697479a54c4f43414c"
          + "03";
  private static final String SGLANG_STORED =
      "93cb41d9acb9302000009197ab426c6f636b53746f72656491d3eeddef0b82167eebc0940102030404c0a347505500";
  private static final String SGLANG_SALTED =
      "93cb41d9acb9302000009198ab426c6f636b53746f7265649105c092010202c0a347505581aa63616368655f73616c74a874656e"
          + "616e742d6100";
  /** As a live SGLang 0.5.23 sent them. */
  private static final String SGLANG_MAP_STORED =
      "93cb41dac2193de639619187a474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657392cf2f58f43aed5a"
          + "1d8bd38146d0608eb3a5b5b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f696473dc002059cd017354cd05"
          + "3fcd0878cd1564cd0122cd02accd0122cd06d4cd012acd033fcd0283cd045bcd01accd0835cd0144cd04edccdccd03b0cd01"
          + "accd0117cd045bcd013556cd0174cd01fbcd012ccd036ecd010acd0127cd0122aa626c6f636b5f73697a6510a76c6f72615f"
          + "6964c0a66d656469756da347505500";

  private static final String SGLANG_MAP_SALTED =
      "93cb41dac2193eb822599188a474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657392cf1e389784ca16"
          + "b831cf2c6a30110b2da105b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f696473dc002059cd017354cd05"
          + "3fcd0878cd1564cd0122cd02accd0122cd06d4cd012acd033fcd0283cd045bcd01accd0835cd0144cd04edccdccd03b0cd01"
          + "accd0117cd045bcd013556cd0174cd01fbcd012ccd036ecd010acd0127cd0122aa626c6f636b5f73697a6510a76c6f72615f"
          + "6964c0a66d656469756da3475055aa63616368655f73616c74a874656e616e742d6100";

  private static final String SGLANG_REMOVED_CLEARED =
      "93cb41d9acb9302000009293ac426c6f636b52656d6f766564920506aa4350555f50494e4e454491b0416c6c426c6f636b73436c"
          + "656172656400";

  private final EventDecoder decoder = new EventDecoder();

  @Test
  void decode_vllmMap_stored() {
    DecodedMessage decoded = decode(MAP_STORED);
    assertThat(decoded.faults()).isEmpty();
    assertThat(decoded.intact()).isTrue();
    KvBatch batch = decoded.batch();
    assertThat(batch.sequence()).isEqualTo(7);
    assertThat(batch.publishedAt()).isEqualTo(1_723_000_000_500_000L);
    assertThat(batch.rank()).isZero();
    assertTwoBlocks(only(batch));
  }

  @Test
  void decode_vllmArray_storedIsTheSame() {
    DecodedMessage decoded = decode(ARRAY_STORED);
    assertThat(decoded.faults()).isEmpty();
    assertTwoBlocks(only(decoded.batch()));
  }

  private static void assertTwoBlocks(KvEvent event) {
    assertThat(event)
        .usingRecursiveComparison()
        .isEqualTo(
            new Stored(
                true,
                0,
                new long[] {0x1122334455667788L, 0xFEDCBA9876543210L},
                new int[] {1, 2, 300, 70_000, 5, 6, 7, 8},
                4,
                Tier.DEVICE,
                null,
                null,
                0,
                Spec.FULL,
                List.of()));
  }

  @Test
  void decode_vllmRemoved_bothEncodings() {
    for (String hex : List.of(MAP_REMOVED, ARRAY_REMOVED)) {
      KvBatch batch = intact(hex);
      assertThat(batch.rank()).isEqualTo(1);
      assertThat(only(batch))
          .usingRecursiveComparison()
          .isEqualTo(new Removed(new long[] {0x1122334455667788L}, Tier.DEVICE, 0));
    }
  }

  @Test
  void decode_vllmCleared_bothEncodings() {
    assertThat(intact(MAP_CLEARED).rank()).isEqualTo(KvBatch.UNKNOWN_RANK);
    assertThat(only(intact(MAP_CLEARED))).isEqualTo(new Cleared());
    assertThat(only(intact(ARRAY_CLEARED))).isEqualTo(new Cleared());
  }

  @Test
  void decode_bytesHashAndEveryExtraKey() {
    KvBatch batch = intact(MAP_BYTES);
    assertThat(batch.rank()).isEqualTo(3);
    assertThat(only(batch))
        .usingRecursiveComparison()
        .isEqualTo(
            new Stored(
                false,
                0x1122334455667788L,
                new long[] {0x18191a1b1c1d1e1fL},
                new int[] {9, 10, 11, 12},
                4,
                Tier.HOST,
                "my-lora",
                null,
                1,
                new Spec(Spec.Kind.SLIDING_WINDOW, 1024),
                List.of(
                    List.of(
                        new ExtraKey.Name("my-lora"),
                        new ExtraKey.Item("imgsha", -3),
                        new ExtraKey.Name("salt"),
                        new ExtraKey.Digest(new byte[] {1, 1, 1, 1})))));
  }

  @Test
  void decode_sglangStored_signedHash() {
    Stored stored = (Stored) only(intact(SGLANG_STORED));
    assertThat(stored.keys()).containsExactly(-1234567890123456789L);
    assertThat(stored.root()).isTrue();
    assertThat(stored.group()).isEqualTo(KvEvent.UNSPECIFIED);
    assertThat(stored.spec()).isEqualTo(Spec.UNSPECIFIED);
    assertThat(stored.cacheSalt()).isNull();
  }

  @Test
  void decode_sglangSalted_metadataIsNotALoraName() {
    Stored stored = (Stored) only(intact(SGLANG_SALTED));
    assertThat(stored.cacheSalt()).isEqualTo("tenant-a");
    assertThat(stored.lora()).isNull();
    assertThat(stored.keys()).containsExactly(5);
  }

  @Test
  void decode_sglangMap_isSharedOnceComputed() {
    Stored stored = (Stored) only(intact(SGLANG_MAP_STORED));
    assertThat(stored.keys()).containsExactly(3411745251660537227L, -9131382081317526091L);
    assertThat(stored.tokens()).hasSize(32);
    assertThat(stored.cacheSalt()).isNull();
    assertThat(stored.onceComputed()).isTrue();
    assertThat(((Stored) only(intact(MAP_STORED))).onceComputed()).as("vLLM").isFalse();
    assertThat(((Stored) only(intact(ARRAY_STORED))).onceComputed()).as("vLLM").isFalse();
  }

  @Test
  void decode_sglangMap_saltIsAField() {
    Stored salted = (Stored) only(intact(SGLANG_MAP_SALTED));
    assertThat(salted.cacheSalt()).isEqualTo("tenant-a");
    assertThat(salted.onceComputed()).isTrue();
    assertThat(salted.tokens()).isEqualTo(((Stored) only(intact(SGLANG_MAP_STORED))).tokens());
  }

  @Test
  void decode_sglangRemovedAndCleared() {
    KvBatch batch = intact(SGLANG_REMOVED_CLEARED);
    assertThat(batch.events()).hasSize(2);
    assertThat(batch.events().getFirst())
        .usingRecursiveComparison()
        .isEqualTo(new Removed(new long[] {5, 6}, Tier.HOST, KvEvent.UNSPECIFIED));
    assertThat(batch.events().getLast()).isEqualTo(new Cleared());
  }

  @Test
  void decode_sglangBigram_firstOfEachPair_andTheTokenAfterTheBlock() throws IOException {
    Stored stored =
        stored(
            p -> {
              p.packArrayHeader(7).packString("BlockStored").packArrayHeader(1).packLong(9).packNil();
              p.packArrayHeader(2);
              p.packArrayHeader(2).packInt(11).packInt(12);
              p.packArrayHeader(2).packInt(12).packInt(13);
              p.packInt(2).packNil().packString("gpu");
            });
    assertThat(stored.tokens()).containsExactly(11, 12);
    assertThat(stored.lookahead().tokens()).containsExactly(13);
    assertThat(stored.lookahead().least()).as("a prompt's last token makes no pair").isEqualTo(2);
    assertThat(stored.tier()).isEqualTo(Tier.DEVICE);
  }

  /** vLLM from 0.33 on, where a draft model looks ahead; MTP's may look at several tokens. */
  @Test
  void decode_vllmLookahead_theFirstTokenAfterEachBlock() throws IOException {
    Stored stored =
        stored(
            p -> {
              p.packMapHeader(8);
              p.packString("lookahead_token_ids").packArrayHeader(2);
              p.packArrayHeader(2).packInt(5).packInt(6);
              p.packArrayHeader(2).packLong(4_294_967_295L).packInt(1);
              p.packString("type").packString("BlockStored");
              p.packString("block_hashes").packArrayHeader(2).packLong(8).packLong(9);
              p.packString("parent_block_hash").packNil();
              p.packString("token_ids").packArrayHeader(4).packInt(1).packInt(2).packInt(5).packInt(6);
              p.packString("block_size").packInt(2);
              p.packString("group_idx").packInt(0);
              p.packString("medium").packString("GPU");
            });
    assertThat(stored.tokens()).containsExactly(1, 2, 5, 6);
    assertThat(stored.lookahead().tokens()).containsExactly(5, -1);
    assertThat(stored.lookahead().least()).as("a block without both cannot be looked up").isEqualTo(2);
    assertThat(stored.onceComputed()).isFalse();
  }

  @Test
  void decode_lookaheadNullOrOfOtherBlocks_doesNotMatter() throws IOException {
    for (int blocks = 0; blocks < 3; blocks += 2) {
      int count = blocks;
      Stored stored =
          stored(
              p -> {
                p.packMapHeader(6);
                p.packString("type").packString("BlockStored");
                p.packString("block_hashes").packArrayHeader(1).packLong(8);
                p.packString("parent_block_hash").packNil();
                p.packString("token_ids").packArrayHeader(2).packInt(1).packInt(2);
                p.packString("block_size").packInt(2);
                p.packString("lookahead_token_ids");
                if (count == 0) {
                  p.packNil();
                } else {
                  p.packArrayHeader(count);
                  for (int i = 0; i < count; i++) {
                    p.packArrayHeader(1).packInt(3);
                  }
                }
              });
      assertThat(stored.lookahead().isAny()).as("%d blocks", count).isTrue();
    }
  }

  @Test
  void decode_llmdSimulator_parentZeroIsARoot_unsignedTokens() throws IOException {
    Stored stored =
        stored(
            p -> {
              p.packArrayHeader(9).packString("BlockStored").packArrayHeader(1).packLong(77).packInt(0);
              p.packArrayHeader(2).packLong(0xffff_ffffL).packLong(0x8000_0000L);
              p.packInt(2).packNil().packString("GPU").packNil().packNil();
            });
    assertThat(stored.root()).isTrue();
    assertThat(stored.tokens()).containsExactly(0xffff_ffff, 0x8000_0000);
  }

  /** TensorRT-LLM's own publisher: maps in vLLM's envelope, signed hashes, nothing about adapter and salt. */
  @Test
  void decode_tensorRtOverZmq_isVllmsWithoutAdapter() throws IOException {
    Stored stored =
        stored(
            p -> {
              p.packMapHeader(8);
              p.packString("type").packString("BlockStored");
              p.packString("block_hashes").packArrayHeader(2).packLong(-8_446_744_073_709_551_000L).packLong(12);
              p.packString("parent_block_hash").packNil();
              p.packString("token_ids").packArrayHeader(4).packInt(1).packInt(2).packInt(3).packInt(4);
              p.packString("block_size").packInt(2);
              p.packString("lora_id").packNil();
              p.packString("medium").packString("GPU");
              p.packString("lora_name").packNil();
            });
    assertThat(stored.keys()).containsExactly(-8_446_744_073_709_551_000L, 12);
    assertThat(stored.root()).isTrue();
    assertThat(stored.tokens()).containsExactly(1, 2, 3, 4);
    assertThat(stored.tier()).isEqualTo(Tier.DEVICE);
    assertThat(stored.lora()).isNull();
    assertThat(stored.cacheSalt()).isNull();
  }

  @Test
  void decode_dynamoMocker_mapOfFewFields_typeLast() throws IOException {
    Stored stored =
        stored(
            p -> {
              p.packMapHeader(5);
              p.packString("block_hashes").packArrayHeader(1).packLong(-5);
              p.packString("parent_block_hash").packLong(-6);
              p.packString("token_ids").packArrayHeader(1).packLong(4_000_000_000L);
              p.packString("block_size").packInt(1);
              p.packString("type").packString("BlockStored");
            });
    assertThat(stored.root()).isFalse();
    assertThat(stored.parentKey()).isEqualTo(-6);
    assertThat(stored.tokens()).containsExactly((int) 4_000_000_000L);
    assertThat(stored.tier()).isEqualTo(Tier.DEVICE);
  }

  @Test
  void decode_everyLegacyLength() throws IOException {
    for (int length = 5; length <= 14; length++) {
      int fields = length;
      KvBatch batch =
          decode(
                  message(
                      p -> {
                        p.packArrayHeader(fields).packString("BlockStored").packArrayHeader(1).packLong(3).packNil();
                        p.packArrayHeader(1).packInt(8).packInt(1);
                        for (int i = 5; i < fields; i++) {
                          p.packNil();
                        }
                      }))
              .batch();
      assertThat(((Stored) only(batch)).keys()).containsExactly(3);
    }
  }

  @Test
  void decode_placeholderAndPartialAndSpanning() throws IOException {
    KvBatch batch =
        intact(
            message(
                p -> {
                  p.packArrayHeader(5).packString("BlockStored").packArrayHeader(1).packLong(1).packNil();
                  p.packArrayHeader(0).packInt(0);
                },
                p -> {
                  p.packArrayHeader(5).packString("BlockStored").packArrayHeader(1).packLong(2).packLong(1);
                  p.packArrayHeader(3).packInt(1).packInt(2).packInt(3).packInt(3);
                },
                p -> {
                  p.packArrayHeader(5).packString("BlockStored").packArrayHeader(1).packLong(4).packLong(1);
                  p.packArrayHeader(4).packInt(1).packInt(2).packInt(3).packInt(4).packInt(2);
                }));
    assertThat(batch.events()).extracting(e -> ((Stored) e).blockSize()).containsExactly(0, 3, 2);
    assertThat(batch.events()).extracting(e -> ((Stored) e).tokens().length).containsExactly(0, 3, 4);
  }

  @Test
  void decode_loraIdWithoutName_isNotTheBaseModel() throws IOException {
    Stored stored =
        stored(
            p -> {
              p.packArrayHeader(6).packString("BlockStored").packArrayHeader(1).packLong(1).packNil();
              p.packArrayHeader(1).packInt(1).packInt(1).packInt(7);
            });
    assertThat(stored.lora()).isEqualTo("lora id 7");
  }

  @Test
  void decode_unknownEventsAndFields_skippedAndCounted() throws IOException {
    DecodedMessage decoded =
        decode(
            message(
                p -> p.packArrayHeader(2).packString("BlockMoved").packArrayHeader(1).packInt(1),
                p -> {
                  p.packMapHeader(2).packString("type").packString("BlockMoved");
                  p.packString("block_hashes").packString("of another shape");
                },
                p -> {
                  p.packMapHeader(3).packString("type").packString("BlockRemoved");
                  p.packString("block_hashes").packArrayHeader(1).packLong(4);
                  p.packString("why").packMapHeader(1).packInt(1).packBoolean(true);
                }));
    assertThat(decoded.batch().events()).hasSize(1);
    assertThat(decoded.intact()).isTrue();
    assertThat(decoded.faults()).isEqualTo(Map.of(DecodeFault.UNKNOWN_EVENT, 2, DecodeFault.UNKNOWN_FIELD, 1));
  }

  @Test
  void decode_unknownMedium_isFar() throws IOException {
    DecodedMessage decoded =
        decode(
            message(
                p -> p.packArrayHeader(3).packString("BlockRemoved").packArrayHeader(0).packString("TAPE"),
                p -> p.packArrayHeader(3).packString("BlockRemoved").packArrayHeader(0).packString("cPu"),
                p -> p.packArrayHeader(3).packString("BlockRemoved").packArrayHeader(0).packNil()));
    assertThat(decoded.batch().events())
        .extracting(e -> ((Removed) e).tier())
        .containsExactly(Tier.REMOTE, Tier.HOST, Tier.DEVICE);
    assertThat(decoded.faults()).isEqualTo(Map.of(DecodeFault.UNKNOWN_MEDIUM, 1));
  }

  @Test
  void decode_remoteLocality_isTheRemoteTier() throws IOException {
    KvBatch batch =
        intact(
            message(
                p -> {
                  p.packMapHeader(4).packString("type").packString("BlockRemoved");
                  p.packString("block_hashes").packArrayHeader(1).packLong(4);
                  p.packString("locality").packString("REMOTE").packString("medium").packString("CPU");
                }));
    assertThat(((Removed) only(batch)).tier()).isEqualTo(Tier.REMOTE);
  }

  @Test
  void decode_faultInOneEvent_keepsTheOthers() throws IOException {
    DecodedMessage decoded =
        decode(
            message(
                p -> p.packArrayHeader(2).packString("BlockRemoved").packArrayHeader(1).packLong(1),
                p -> p.packArrayHeader(2).packString("BlockRemoved").packString("no list"),
                p -> p.packInt(3),
                p -> p.packMapHeader(1).packString("medium").packString("GPU"),
                p -> p.packArrayHeader(2).packString("BlockRemoved").packArrayHeader(1).packLong(2)));
    assertThat(decoded.batch().events()).extracting(e -> ((Removed) e).keys()[0]).containsExactly(1L, 2L);
    assertThat(decoded.faults()).isEqualTo(Map.of(DecodeFault.MALFORMED, 3));
    assertThat(decoded.intact()).isFalse();
    assertThat(decoded.batch().rank()).isEqualTo(2);
  }

  @Test
  void decode_missingParent_isNotTakenForARoot() throws IOException {
    DecodedMessage decoded =
        decode(
            message(
                p -> {
                  p.packMapHeader(4).packString("type").packString("BlockStored");
                  p.packString("block_hashes").packArrayHeader(1).packLong(4);
                  p.packString("token_ids").packArrayHeader(1).packInt(1).packString("block_size").packInt(1);
                }));
    assertThat(decoded.batch().events()).isEmpty();
    assertThat(decoded.faults()).isEqualTo(Map.of(DecodeFault.MALFORMED, 1));
  }

  @Test
  void decode_tooManyHashesOrTokens_refusesTheEventOnly() throws IOException {
    DecodedMessage decoded =
        decode(
            message(
                p -> {
                  p.packArrayHeader(2).packString("BlockRemoved").packArrayHeader(WireReader.MAX_KEYS + 1);
                  for (int i = 0; i <= WireReader.MAX_KEYS; i++) {
                    p.packInt(i);
                  }
                },
                p -> {
                  p.packArrayHeader(5).packString("BlockStored").packArrayHeader(1).packInt(1).packNil();
                  p.packArrayHeader(WireReader.MAX_TOKENS + 1);
                  for (int i = 0; i <= WireReader.MAX_TOKENS; i++) {
                    p.packInt(1);
                  }
                  p.packInt(1);
                },
                p -> p.packArrayHeader(2).packString("BlockRemoved").packArrayHeader(1).packLong(2)));
    assertThat(decoded.faults()).isEqualTo(Map.of(DecodeFault.TOO_LARGE, 2));
    assertThat(decoded.batch().events()).hasSize(1);
  }

  @Test
  void decode_tokenOfMoreThan32Bits_isMalformed() throws IOException {
    DecodedMessage decoded =
        decode(
            message(
                p -> {
                  p.packArrayHeader(5).packString("BlockStored").packArrayHeader(1).packInt(1).packNil();
                  p.packArrayHeader(1).packLong(0x1_0000_0000L).packInt(1);
                }));
    assertThat(decoded.faults()).isEqualTo(Map.of(DecodeFault.MALFORMED, 1));
  }

  @Test
  void decode_twoFieldBatch_andOddTimes() {
    KvBatch old = decode("92cb41d9acb93080000090").batch();
    assertThat(old.rank()).isEqualTo(KvBatch.UNKNOWN_RANK);
    assertThat(old.publishedAt()).isEqualTo(1_723_000_002_000_000L);
    assertThat(decode("92c090").batch().publishedAt()).isZero();
    assertThat(decode("92cb7ff800000000000090").batch().publishedAt()).isZero();
    assertThat(decode("920590").batch().publishedAt()).isEqualTo(5_000_000);
  }

  @Test
  void decode_cutAnywhere_isAFaultAndKeepsWholeEvents() {
    byte[] whole = HexFormat.of().parseHex(SGLANG_REMOVED_CLEARED);
    for (int length = 0; length < whole.length; length++) {
      DecodedMessage decoded = decoder.decode(0, Arrays.copyOf(whole, length));
      assertThat(decoded.intact()).isFalse();
      // The removal ends at byte 39, the clear at 57, and only the rank follows.
      assertThat(decoded.batch().events()).hasSize(length < 39 ? 0 : length < 57 ? 1 : 2);
    }
  }

  private DecodedMessage decode(String hex) {
    return decoder.decode(7, HexFormat.of().parseHex(hex));
  }

  private KvBatch intact(String hex) {
    DecodedMessage decoded = decode(hex);
    assertThat(decoded.faults()).isEmpty();
    return decoded.batch();
  }

  /** The one event of a message that is packed so. */
  private Stored stored(Packing event) throws IOException {
    return (Stored) only(intact(message(event)));
  }

  private static KvEvent only(KvBatch batch) {
    assertThat(batch.events()).hasSize(1);
    return batch.events().getFirst();
  }

  private interface Packing {
    void into(MessageBufferPacker packer) throws IOException;
  }

  private static String message(Packing... events) throws IOException {
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      packer.packArrayHeader(3).packDouble(1.5).packArrayHeader(events.length);
      for (Packing event : events) {
        event.into(packer);
      }
      packer.packInt(2);
      return HexFormat.of().formatHex(packer.toByteArray());
    }
  }
}
