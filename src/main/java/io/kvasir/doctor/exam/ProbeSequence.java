package io.kvasir.doctor.exam;

import io.kvasir.doctor.exam.ProbeExam.ProbeEvents;
import io.kvasir.events.ExtraKey;
import io.kvasir.events.KvEvent;
import io.kvasir.index.BlockHash;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A prompt of some blocks that no engine has seen, and what an engine's events say of it. Tokens are of the lowest
 * hundreds, which every vocabulary has. Thread-safe.
 */
final class ProbeSequence {
  private static final int BLOCKS = 3;
  private static final int FIRST_TOKEN = 100;
  private static final int LAST_TOKEN = 400;

  private final String salt;
  private final int blockSize;
  private final int[] tokens;
  private final long[] chain;
  /** The depth of each stored block of the prompt, by the engine's key. */
  private final Map<Long, Integer> depths = new HashMap<>();
  private int published;
  private int promised;
  private @Nullable Long firstKey;

  /** A prompt for blocks of a size; equal seeds and sizes give equal prompts. */
  ProbeSequence(RandomGenerator random, String salt, int blockSize) {
    this.salt = salt;
    this.blockSize = blockSize;
    // One token more than whole blocks: engines compute the last one in any case.
    this.tokens = random.ints((long) BLOCKS * blockSize + 1, FIRST_TOKEN, LAST_TOKEN).toArray();
    this.chain = new long[BLOCKS];
    int _ = BlockHash.in(null, salt).chain(BlockHash.NONE, tokens, 0, BLOCKS * blockSize, blockSize, chain, 0);
  }

  int[] tokens() {
    return tokens;
  }

  String salt() {
    return salt;
  }

  int blockSize() {
    return blockSize;
  }

  int blocks() {
    return BLOCKS;
  }

  /** Takes note of an event, if it is of this prompt. */
  synchronized void accept(KvEvent event) {
    if (!(event instanceof KvEvent.Stored stored) || stored.blockSize() < 1) {
      return;
    }
    Integer parent = stored.root() ? Integer.valueOf(0) : depths.get(stored.parentKey());
    if (parent == null) {
      return;
    }
    int depth = parent;
    for (int i = 0; i < stored.keys().length; i++, depth++) {
      if (!isBlock(stored, i, depth)) {
        return;
      }
      depths.put(stored.keys()[i], depth + 1);
      if (depth == 0) {
        firstKey = stored.keys()[i];
      }
      published = Math.max(published, depth + 1);
      if (describesBlock(stored, depth)) {
        promised = Math.max(promised, depth + 1);
      }
    }
    notifyAll();
  }

  /** Whether the i-th block of an event has the tokens of this prompt's block at a depth. */
  private boolean isBlock(KvEvent.Stored stored, int i, int depth) {
    int size = stored.blockSize();
    int from = depth * size;
    return from + size <= tokens.length && (i + 1) * size <= stored.tokens().length
        && Arrays.equals(stored.tokens(), i * size, (i + 1) * size, tokens, from, from + size);
  }

  /** Whether the router, which hashes what the event tells, finds the block by this prompt's hashes. */
  private boolean describesBlock(KvEvent.Stored stored, int depth) {
    if (stored.blockSize() != blockSize || depth >= BLOCKS) {
      return false;
    }
    String told = depth == 0 ? saltOf(stored) : promised == depth ? salt : null;
    BlockHash hash = BlockHash.in(stored.lora(), told);
    long parent = depth == 0 ? BlockHash.NONE : chain[depth - 1];
    return BlockHash.chained(parent, hash.local(tokens, depth * blockSize, blockSize)) == chain[depth];
  }

  private static @Nullable String saltOf(KvEvent.Stored stored) {
    if (stored.cacheSalt() != null || stored.extraKeys().isEmpty()) {
      return stored.cacheSalt();
    }
    return stored.extraKeys().getFirst().stream()
        .filter(ExtraKey.Name.class::isInstance)
        .map(key -> ((ExtraKey.Name) key).text())
        .filter(text -> !text.equals(stored.lora()))
        .findFirst()
        .orElse(null);
  }

  /** Waits until all blocks have been stored, or the deadline. */
  synchronized void awaitStored(long deadlineNanos) throws InterruptedException {
    long left = deadlineNanos - System.nanoTime();
    while (published < BLOCKS && left > 0) {
      wait(left / 1_000_000 + 1);
      left = deadlineNanos - System.nanoTime();
    }
  }

  synchronized ProbeEvents events() {
    return new ProbeEvents(published, promised, firstKey);
  }
}
