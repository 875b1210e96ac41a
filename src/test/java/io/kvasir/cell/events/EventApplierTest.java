package io.kvasir.cell.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.events.DecodedMessage;
import io.kvasir.events.EventDecoder;
import io.kvasir.events.ExtraKey;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Removed;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.events.StateSnapshots;
import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What is findable after events, and what is not. Blocks of 4 tokens; prompt p is tokens p, p+1, … */
final class EventApplierTest {
  private static final int BLOCK = 4;

  private final BlockIndex index = new BlockIndex(64, 64 << 20);
  private final WorkerBlocks blocks = index.open(0);
  private final EventApplier applier = new EventApplier(blocks, BLOCK);
  private long sequence;

  @Test
  void stored_rootAndChild_areFound() {
    apply(stored(0, tokens(100, 2), 1, 2));
    apply(stored(2, tokens(108, 1), 3));
    assertThat(depth(tokens(100, 4), null, null)).isEqualTo(3);
    assertThat(applier.state().applied()).isEqualTo(2);
    assertThat(applier.state().lastSequence()).isEqualTo(1);
    assertThat(applier.state().blockSize()).isEqualTo(BLOCK);
  }

  @Test
  void removed_lastBlock_shortensThePrefix() {
    apply(stored(0, tokens(100, 3), 1, 2, 3));
    apply(removed(3));
    assertThat(depth(tokens(100, 3), null, null)).isEqualTo(2);
  }

  @Test
  void removed_unknownKey_isIgnored() {
    apply(stored(0, tokens(100, 1), 1));
    apply(removed(77));
    assertThat(depth(tokens(100, 1), null, null)).isEqualTo(1);
  }

  @Test
  void stored_twice_needsTwoRemovals() {
    apply(stored(0, tokens(100, 1), 1));
    apply(stored(0, tokens(100, 1), 1));
    apply(removed(1));
    assertThat(depth(tokens(100, 1), null, null)).isEqualTo(1);
    apply(removed(1));
    assertThat(depth(tokens(100, 1), null, null)).isZero();
  }

  @Test
  void stored_unsequenced_isASet() {
    Stored stored = stored(0, tokens(100, 1), 1);
    applier.apply(new KvBatch(KvBatch.UNSEQUENCED, 0, 0, List.of(stored, stored)), 0);
    applier.apply(new KvBatch(KvBatch.UNSEQUENCED, 0, 0, List.of(removed(1))), 0);
    assertThat(depth(tokens(100, 1), null, null)).isZero();
  }

  @Test
  void stored_beforeItsParent_waitsForIt() {
    apply(stored(2, tokens(108, 1), 3));
    apply(stored(3, tokens(112, 1), 4));
    assertThat(applier.state().parked()).isEqualTo(2);
    assertThat(blocks.size()).isZero();
    apply(stored(0, tokens(100, 2), 1, 2));
    assertThat(applier.state().parked()).isZero();
    assertThat(depth(tokens(100, 4), null, null)).isEqualTo(4);
  }

  @Test
  void removed_whileParked_isAHoleLater() {
    apply(stored(1, tokens(104, 4), 2, 3, 4, 5));
    apply(removed(3));
    apply(removed(5));
    apply(stored(0, tokens(100, 1), 1));
    assertThat(depth(tokens(100, 2), null, null)).isEqualTo(2);
    assertThat(depth(tokens(100, 3), null, null)).isEqualTo(2);
    assertThat(blocks.size()).isEqualTo(3);
    apply(stored(2, tokens(108, 1), 3));
    assertThat(depth(tokens(100, 5), null, null)).isEqualTo(4);
  }

  @Test
  void removed_whileParked_stillLeadsToThoseAfterIt() {
    apply(stored(2, tokens(108, 1), 3));
    apply(stored(1, tokens(104, 2), 2, 9));
    apply(removed(2));
    apply(stored(0, tokens(100, 1), 1));
    assertThat(applier.state().parked()).isZero();
    apply(stored(1, tokens(104, 1), 2));
    assertThat(depth(tokens(100, 3), null, null)).isEqualTo(3);
  }

  @Test
  void removed_wholeParkedEvent_leavesNothing() {
    apply(stored(1, tokens(104, 1), 2));
    apply(removed(2));
    assertThat(applier.state().parked()).isZero();
  }

  @Test
  void orphans_overflow_dropsTheOldest_visibly() {
    int blocksEach = 1024;
    int events = EventOrphans.MAX_TOKENS / (blocksEach * BLOCK) + 3;
    for (int i = 0; i < events; i++) {
      long first = 1_000_000L + (long) i * blocksEach;
      apply(stored(500 + i, tokens(i, blocksEach), IntStream.range(0, blocksEach).mapToLong(b -> first + b).toArray()));
    }
    assertThat(applier.state().parked()).isEqualTo(events - 3);
    assertThat(applier.state().ignored().orphans()).isEqualTo(3);
  }

  @Test
  void cleared_forgetsEverything_orphansToo() {
    apply(stored(0, tokens(100, 2), 1, 2));
    apply(stored(9, tokens(200, 1), 10));
    apply(new KvEvent.Cleared());
    assertThat(blocks.size()).isZero();
    assertThat(applier.state().parked()).isZero();
  }

  @Test
  void restarted_clears_andKeysMayMeanSomethingElse() {
    apply(stored(0, tokens(100, 2), 1, 2));
    apply(new KvEvent.Restarted());
    assertThat(depth(tokens(100, 2), null, null)).isZero();
    apply(stored(0, tokens(300, 2), 1, 2));
    assertThat(depth(tokens(300, 2), null, null)).isEqualTo(2);
    assertThat(depth(tokens(100, 2), null, null)).isZero();
  }

  @Test
  void gap_isSuspectUntilClosed() {
    assertThat(applier.state().suspect()).isFalse();
    say(new KvEvent.Gap(3), 1000);
    say(new KvEvent.Connected(), 2000);
    assertThat(applier.state().suspect()).isTrue();
    assertThat(applier.state().suspectSince()).isEqualTo(1000);
    say(new KvEvent.GapClosed(), 3000);
    assertThat(applier.state().suspect()).isFalse();
  }

  @Test
  void gapAbandoned_staysSuspect_untilNothingIsClaimed() {
    say(new KvEvent.Gap(3), 1000);
    say(new KvEvent.GapAbandoned(3, 4), 2000);
    apply(stored(0, tokens(100, 1), 1));
    assertThat(applier.state().suspectSince()).isEqualTo(1000);
    say(new KvEvent.Gap(9), 3000);
    say(new KvEvent.GapClosed(), 4000);
    assertThat(applier.state().suspectSince()).isEqualTo(1000);
    apply(new KvEvent.Cleared());
    assertThat(applier.state().suspect()).isFalse();
  }

  @Test
  void connection_isVisible() {
    say(new KvEvent.Connected(), 0);
    assertThat(applier.state().connected()).isTrue();
    say(new KvEvent.Disconnected(), 0);
    assertThat(applier.state().connected()).isFalse();
  }

  @Test
  void lora_isANamespace() {
    apply(stored(0, tokens(100, 2), "my-lora", null, List.of(), 1, 2));
    assertThat(depth(tokens(100, 2), "my-lora", null)).isEqualTo(2);
    assertThat(depth(tokens(100, 2), null, null)).isZero();
  }

  @Test
  void salt_amongExtraKeys_isInheritedByLaterBlocks() {
    apply(stored(0, tokens(100, 2), null, null, List.of(List.of(new ExtraKey.Name("tenant-a")), List.of()), 1, 2));
    apply(stored(2, tokens(108, 1), 3));
    apply(stored(3, tokens(112, 1), 4));
    assertThat(depth(tokens(100, 4), null, "tenant-a")).isEqualTo(4);
    assertThat(depth(tokens(100, 4), null, null)).isZero();
    assertThat(depth(tokens(100, 4), null, "tenant-b")).isZero();
  }

  @Test
  void salt_andLora_together() {
    List<ExtraKey> first = List.of(new ExtraKey.Name("my-lora"), new ExtraKey.Name("tenant-a"));
    List<ExtraKey> second = List.of(new ExtraKey.Name("my-lora"));
    apply(stored(0, tokens(100, 2), "my-lora", null, List.of(first, second), 1, 2));
    apply(stored(2, tokens(108, 1), "my-lora", null, List.of(second), 3));
    assertThat(depth(tokens(100, 3), "my-lora", "tenant-a")).isEqualTo(3);
    assertThat(depth(tokens(100, 3), "my-lora", null)).isZero();
  }

  @Test
  void salt_fromMetadata() {
    apply(stored(0, tokens(100, 1), null, "tenant-a", List.of(), 1));
    apply(stored(1, tokens(104, 1), null, "tenant-a", List.of(), 2));
    assertThat(depth(tokens(100, 2), null, "tenant-a")).isEqualTo(2);
  }

  @Test
  void salt_ofOrphans_comesWithTheParent() {
    apply(stored(1, tokens(104, 1), 2));
    apply(stored(0, tokens(100, 1), null, null, List.of(List.of(new ExtraKey.Name("s"))), 1));
    assertThat(depth(tokens(100, 2), null, "s")).isEqualTo(2);
  }

  @Test
  void salt_keyReusedWithoutSalt_losesIt() {
    apply(stored(0, tokens(100, 1), null, null, List.of(List.of(new ExtraKey.Name("s"))), 1));
    apply(removed(1));
    apply(stored(0, tokens(200, 1), 1));
    apply(stored(1, tokens(204, 1), 2));
    assertThat(depth(tokens(200, 2), null, null)).isEqualTo(2);
  }

  @Test
  void multimodalBlocks_matchNoText_andNotOneAnother() {
    List<ExtraKey> cat = List.of(new ExtraKey.Item("00ff00ff00ff00ff00ff", -2));
    List<ExtraKey> dog = List.of(new ExtraKey.Item("dog.png", 1));
    apply(stored(0, tokens(100, 3), null, null, List.of(List.of(), cat, List.of()), 1, 2, 3));
    assertThat(depth(tokens(100, 3), null, null)).isEqualTo(1);
    long afterCat = blocks.hashOf(3);
    apply(stored(1, tokens(104, 2), null, null, List.of(dog, List.of()), 4, 5));
    assertThat(blocks.hashOf(4)).isNotEqualTo(blocks.hashOf(2));
    assertThat(blocks.hashOf(5)).isNotEqualTo(afterCat);
    apply(stored(1, tokens(104, 2), null, null, List.of(cat, List.of()), 6, 7));
    assertThat(blocks.hashOf(7)).isEqualTo(afterCat);
  }

  @Test
  void multimodalBlock_isHashedAsTokensThenSortedNumbers() {
    List<ExtraKey> items =
        List.of(new ExtraKey.Item("ffffffffffffffff", 0), new ExtraKey.Item("0123456789abcdef00", 2));
    apply(stored(0, tokens(100, 1), null, null, List.of(items), 1));
    int[] mixed = {100, 101, 102, 103, 0x89abcdef, 0x01234567, -1, -1};
    assertThat(blocks.hashOf(1)).isEqualTo(BlockHash.in(null, null).local(mixed, 0, mixed.length));
  }

  @Test
  void embeddings_areMixedIn() {
    List<ExtraKey> digest = List.of(new ExtraKey.Digest(new byte[32]));
    apply(stored(0, tokens(100, 1), null, null, List.of(digest), 1));
    assertThat(depth(tokens(100, 1), null, null)).isZero();
    assertThat(blocks.size()).isEqualTo(1);
  }

  @Test
  void otherGroups_areNotThePrefix_storesAndRemovals() {
    apply(inGroup(0, Spec.FULL, 1));
    apply(inGroup(1, Spec.OTHER, 1));
    apply(inGroup(2, Spec.FULL, 1));
    apply(new Removed(new long[] {1}, Tier.DEVICE, 1));
    apply(new Removed(new long[] {1}, Tier.DEVICE, 2));
    assertThat(depth(tokens(100, 1), null, null)).isEqualTo(1);
    assertThat(applier.state().ignored().otherGroup()).as("of no kind that is followed").isEqualTo(2);
    apply(new Removed(new long[] {1}, Tier.DEVICE, 0));
    assertThat(depth(tokens(100, 1), null, null)).isZero();
  }

  @Test
  void prefixGroup_needNotBeTheFirst() {
    apply(inGroup(0, Spec.OTHER, 1));
    apply(inGroup(1, Spec.FULL, 1));
    assertThat(depth(tokens(100, 1), null, null)).isEqualTo(1);
  }

  @Test
  void partialBlock_thenTheFullOne() {
    apply(stored(0, tokens(100, 1), 1));
    apply(sized(false, 1, new int[] {104, 105}, 2, Tier.DEVICE, 2));
    assertThat(applier.state().ignored().partial()).isEqualTo(1);
    apply(removed(2));
    apply(stored(1, tokens(104, 1), 3));
    assertThat(depth(tokens(100, 2), null, null)).isEqualTo(2);
  }

  @Test
  void placeholder_andSkippedBlocks_areCounted() {
    apply(sized(true, 0, new int[0], 0, Tier.HOST, 1));
    apply(sized(true, 0, tokens(100, 3), BLOCK, Tier.DEVICE, 1, 2));
    assertThat(blocks.size()).isZero();
    assertThat(applier.state().ignored().placeholder()).isEqualTo(1);
    assertThat(applier.state().ignored().unassignable()).isEqualTo(1);
  }

  /** As vLLM's offloading says by default that it has copied blocks of the device. */
  @Test
  void placeholder_ofBlocksThatAreKnown_isACopyInItsTier() {
    apply(stored(0, tokens(100, 2), 1, 2));
    apply(sized(true, 0, new int[0], 0, Tier.HOST, 1, 2, 3));
    assertThat(applier.state().ignored().placeholder()).as("of the third nothing is known").isEqualTo(1);
    apply(removed(1, 2));
    assertThat(depth(tokens(100, 2), null, null)).as("in host memory").isEqualTo(2);
    assertThat(blocks.holds(2, Tier.HOST)).isTrue();
    apply(new KvEvent.Removed(new long[] {2}, Tier.HOST, KvEvent.UNSPECIFIED));
    assertThat(depth(tokens(100, 2), null, null)).isEqualTo(1);
  }

  /** As vLLM's recorder makes it: taught once each, copied as often as they are there, and taken off once. */
  @Test
  void stateOfAnEngine_isWhatItHolds() {
    blocks.store(0, true, new long[] {99}, new long[] {99}, 1, Tier.DEVICE, true);
    KvEvent taken = new KvEvent.Snapshot(50);
    say(taken, 1);
    DecodedMessage decoded = new EventDecoder().decode(49, StateSnapshots.PART);
    assertThat(decoded.faults()).isEmpty();
    applier.apply(decoded.batch(), 1);
    assertThat(blocks.size()).isEqualTo(3);
    assertThat(blocks.holds(11, Tier.DEVICE)).isTrue();
    assertThat(blocks.holds(12, Tier.HOST)).isTrue();
    assertThat(blocks.holds(12, Tier.DEVICE)).isFalse();
    assertThat(blocks.holds(14, Tier.DEVICE)).isTrue();
    int[] tokens = {1, 2, 3, 4, 5, 6, 7, 8, 50, 51, 52, 53};
    assertThat(depth(tokens, null, null)).isEqualTo(3);
    tokens[8] = 9;
    assertThat(depth(tokens, null, null)).isEqualTo(2);
    apply(removed(11));
    assertThat(depth(tokens, null, null)).as("of two copies one is left").isEqualTo(2);
    apply(removed(11));
    assertThat(depth(tokens, null, null)).isZero();
  }

  @Test
  void blockSize_larger_isAdopted() {
    apply(sized(true, 0, tokens(100, 2), 2 * BLOCK, Tier.DEVICE, 1));
    assertThat(applier.state().blockSize()).isEqualTo(2 * BLOCK);
    assertThat(blocks.size()).isEqualTo(1);
  }

  @Test
  void blockSize_smaller_isAdoptedOnceSure() {
    apply(sized(true, 0, new int[] {1, 2}, 2, Tier.DEVICE, 1));
    assertThat(applier.state().blockSize()).isZero();
    apply(sized(true, 0, new int[] {1, 2, 3, 4}, 2, Tier.DEVICE, 1, 2));
    assertThat(applier.state().blockSize()).isEqualTo(2);
    assertThat(blocks.size()).isEqualTo(2);
  }

  @Test
  void connectorChunks_doNotChangeTheBlockSize() {
    apply(sized(true, 0, tokens(100, 8), 8 * BLOCK, Tier.HOST, 50));
    apply(stored(0, tokens(100, 1), 1));
    apply(sized(true, 0, tokens(100, 8), 8 * BLOCK, Tier.HOST, 51));
    assertThat(applier.state().blockSize()).isEqualTo(BLOCK);
    assertThat(applier.state().ignored().otherBlockSize()).isEqualTo(2);
  }

  @Test
  void tiers_blockIsHeldWhileAnyTierHasIt() {
    apply(stored(0, tokens(100, 1), 1));
    apply(sized(true, 0, tokens(100, 1), BLOCK, Tier.HOST, 1));
    apply(new Removed(new long[] {1}, Tier.DEVICE, KvEvent.UNSPECIFIED));
    assertThat(depth(tokens(100, 1), null, null)).isEqualTo(1);
    apply(new Removed(new long[] {1}, Tier.HOST, KvEvent.UNSPECIFIED));
    assertThat(depth(tokens(100, 1), null, null)).isZero();
  }

  @Test
  void budget_refusalIsCounted_andRemovalsStillWork() {
    BlockIndex small = new BlockIndex(64, 4 << 20);
    WorkerBlocks few = small.open(0);
    EventApplier tight = new EventApplier(few, BLOCK);
    int each = 1000;
    for (int i = 0; i < 200; i++) {
      long first = 1 + (long) i * each;
      long[] keys = IntStream.range(0, each).mapToLong(b -> first + b).toArray();
      tight.apply(new KvBatch(i, 0, 0, List.of(stored(0, tokens(i * 10_000, each), keys))), 0);
    }
    assertThat(tight.state().refused()).isPositive();
    assertThat(few.size() + tight.state().refused()).isEqualTo(200L * each);
  }

  private void apply(KvEvent event) {
    applier.apply(new KvBatch(sequence++, 0, 0, List.of(event)), 1);
  }

  private void say(KvEvent event, long now) {
    applier.apply(new KvBatch(KvBatch.UNSEQUENCED, 0, 0, List.of(event)), now);
  }

  private int depth(int[] tokens, @Nullable String lora, @Nullable String salt) {
    long[] hashes = new long[tokens.length / BLOCK];
    BlockHash.in(lora, salt).chain(BlockHash.NONE, tokens, 0, tokens.length, BLOCK, hashes, 0);
    return index.search(new Chain(hashes, BLOCK), new long[] {1}, new int[64]);
  }

  private static int[] tokens(int first, int blocks) {
    return IntStream.range(first, first + blocks * BLOCK).toArray();
  }

  private static Stored stored(long parent, int[] tokens, long... keys) {
    return stored(parent, tokens, null, null, List.of(), keys);
  }

  private static Stored stored(
      long parent,
      int[] tokens,
      @Nullable String lora,
      @Nullable String salt,
      List<List<ExtraKey>> extra,
      long... keys) {
    return new Stored(
        parent == 0, parent, keys, tokens, BLOCK, Tier.DEVICE, lora, salt, KvEvent.UNSPECIFIED, Spec.UNSPECIFIED,
        extra);
  }

  private static Stored sized(boolean root, long parent, int[] tokens, int size, Tier tier, long... keys) {
    return new Stored(root, parent, keys, tokens, size, tier, null, null, KvEvent.UNSPECIFIED, Spec.UNSPECIFIED,
        List.of());
  }

  private static Stored inGroup(int group, Spec spec, long key) {
    return new Stored(
        true, 0, new long[] {key}, tokens(100, 1), BLOCK, Tier.DEVICE, null, null, group, spec, List.of());
  }

  private static Removed removed(long... keys) {
    return new Removed(keys, Tier.DEVICE, KvEvent.UNSPECIFIED);
  }
}
