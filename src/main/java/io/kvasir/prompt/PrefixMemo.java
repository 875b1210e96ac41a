package io.kvasir.prompt;

import com.dynatrace.hash4j.hashing.HashValue128;
import com.dynatrace.hash4j.hashing.Hasher128;
import com.dynatrace.hash4j.hashing.Hashing;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import io.kvasir.prompt.tokens.TokenIdList;
import io.kvasir.prompt.tokens.Tokenizer;
import java.util.Arrays;
import java.util.random.RandomGenerator;

/**
 * A cache of the block hashes of prompt prefixes, so that a turn of a conversation costs its new text and not its
 * history.
 *
 * <p>A text is cut into pieces where the tokenizer knows that they tokenise independently (special tokens; in long
 * stretches without one, line breaks before a letter). Where a piece ends depends on the text up to there only, so
 * texts that begin alike are cut alike. A <em>step</em> is what one piece adds to everything before it: the hashes of
 * the blocks it completes and the ids of the unfinished block. Its key is a 128-bit hash of the whole text up to the
 * piece's end (with a random seed, so that no client can construct two texts that collide) and of the tokenizer: a
 * model that is learnt anew may have another. A prompt is walked from its start: each step is copied when it is cached
 * and computed when it is not, so that an evicted step in the middle costs only that step. {@value #SPAN} pieces that
 * no prompt ends in are a step of their own, too, a <em>span</em>, and a prompt goes from span to span as long as they
 * are cached. Only the unfinished block's tokens are kept: 48,000 tokens of 16 to a block take some 60 kB, twice while
 * both spans and pieces are used, whichever prompts share them.
 *
 * <p>Walking costs a scan for the cuts, one hash over the text, and a look-up for each span and for each piece after
 * the last one. Bounded in bytes; the least used steps go first. Thread-safe.
 */
final class PrefixMemo {
  /** Bytes of one step besides its arrays: the entry, its key, the records and headers. */
  private static final int OVERHEAD = 176;

  /** Minimum bytes of a prompt's last piece to be cached: a shorter one is cheaper to compute than to keep. */
  private static final int MIN_LAST_PIECE = 512;

  /** Pieces in a span. */
  private static final int SPAN = 16;

  /** Bytes of new text from one checkpoint to the next: some milliseconds. */
  private static final int CHECKPOINT_BYTES = 64 << 10;

  /**
   * What a piece adds to everything before it.
   *
   * @param firsts the folded first token of each block
   * @param rest the tokens of the unfinished block
   */
  private record MemoStep(int tokens, long[] blocks, short[] firsts, int[] rest) {
    int bytes() {
      return OVERHEAD + (Long.BYTES + Short.BYTES) * blocks.length + Integer.BYTES * rest.length;
    }
  }

  /**
   * The chain of a tokenised prompt.
   *
   * @param tokens number of tokens
   * @param reused tokens that were in the cache
   */
  record Tokens(Chain chain, int tokens, int reused) {}

  private final Hasher128 hasher;
  private final Cache<HashValue128, MemoStep> steps;

  PrefixMemo(long maxBytes) {
    hasher = Hashing.xxh3_128(RandomGenerator.of("SecureRandom").nextLong());
    steps = Caffeine.newBuilder()
        // Evictions are a few operations: to wake a thread for them costs more.
        .executor(Runnable::run)
        .maximumWeight(maxBytes)
        .weigher((HashValue128 key, MemoStep step) -> step.bytes())
        .build();
  }

  /** Estimated bytes of the cache; may lag behind the latest changes. */
  long bytes() {
    return steps.policy().eviction().map(e -> e.weightedSize().orElse(0)).orElse(0L);
  }

  /** Runs pending evictions. */
  void cleanUp() {
    steps.cleanUp();
  }

  /** Estimated number of cached steps. */
  long size() {
    return steps.estimatedSize();
  }

  /**
   * The chain of {@code text} in UTF-8, with the tokenizer's special tokens around it when {@code special} is true.
   *
   * @param checkpoint runs now and then between words while a long text is tokenised; what it throws ends that
   * @throws RuntimeException when the tokenizer cannot encode the text
   */
  Tokens tokens(Tokenizer tokenizer, BlockNamespace namespace, byte[] text, boolean special, Runnable checkpoint) {
    return new Tokenization(tokenizer, namespace, checkpoint).of(text, special);
  }

  /** The chain of given token ids. */
  static Tokens ofIds(BlockNamespace namespace, int[] ids) {
    return new Tokens(Chain.of(namespace.hash(), ids, namespace.blockSize()), ids.length, 0);
  }

  private final class Tokenization {
    private final Tokenizer tokenizer;
    private final BlockNamespace namespace;
    private final Runnable checkpoint;
    private final byte[] link = new byte[2 * HASH_BYTES];

    /** Where the pieces of a span end. */
    private final int[] ends = new int[SPAN];

    private final TokenIdList open;
    private long[] chain = new long[16];
    private short[] firsts = new short[16];
    private int blocks;
    private int reused;
    private int computed;

    private static final int HASH_BYTES = 16;

    Tokenization(Tokenizer tokenizer, BlockNamespace namespace, Runnable checkpoint) {
      this.tokenizer = tokenizer;
      this.checkpoint = checkpoint;
      this.namespace = namespace;
      this.open = new TokenIdList(namespace.blockSize());
    }

    Tokens of(byte[] text, boolean special) {
      // Few texts have fewer than three bytes to a token.
      chain = new long[text.length / (3 * namespace.blockSize()) + 1];
      firsts = new short[chain.length];
      if (special) {
        add(tokenizer.before());
      }
      HashValue128 key = root(special);
      int from = 0;
      while (from < text.length) {
        int pieces = cut(text, from);
        int to = ends[pieces - 1];
        if (pieces == SPAN && to < text.length) {
          HashValue128 whole = after(key, text, from, to);
          MemoStep step = steps.getIfPresent(whole);
          if (step != null) {
            append(step);
          } else {
            int tokensBefore = tokens();
            int blocksBefore = blocks;
            addPieces(text, from, pieces, key);
            steps.put(whole, step(tokens() - tokensBefore, blocksBefore));
          }
          key = whole;
        } else {
          addPieces(text, from, pieces, key);
        }
        from = to;
      }
      if (special) {
        add(tokenizer.after());
      }
      return new Tokens(new Chain(Arrays.copyOf(chain, blocks), namespace.blockSize(), lookahead()), tokens(), reused);
    }

    /** The token after each block, of the last one where there is one. */
    private Chain.Lookahead lookahead() {
      if (blocks == 0) {
        return new Chain.Lookahead(new short[0], open.size());
      }
      boolean goesOn = open.size() > 0;
      short[] next = new short[goesOn ? blocks : blocks - 1];
      System.arraycopy(firsts, 1, next, 0, blocks - 1);
      if (goesOn) {
        next[blocks - 1] = BlockHash.fold(open.array()[0]);
      }
      return new Chain.Lookahead(next, open.size());
    }

    /** Finds where the next pieces end, up to a span's; returns how many there are. */
    private int cut(byte[] text, int from) {
      int pieces = 0;
      int at = from;
      while (pieces < SPAN && at < text.length) {
        at = tokenizer.cut(text, at);
        ends[pieces++] = at;
      }
      return pieces;
    }

    /** Adds pieces one by one. */
    private void addPieces(byte[] text, int start, int pieces, HashValue128 before) {
      HashValue128 key = before;
      int from = start;
      for (int i = 0; i < pieces; i++) {
        int to = ends[i];
        if (to == text.length && to - from < MIN_LAST_PIECE) {
          compute(text, from, to);
        } else {
          key = after(key, text, from, to);
          MemoStep step = steps.getIfPresent(key);
          if (step != null) {
            append(step);
          } else {
            int blocksBefore = blocks;
            steps.put(key, step(compute(text, from, to), blocksBefore));
          }
        }
        from = to;
      }
    }

    /** What {@code added} tokens added to a chain of so many blocks. */
    private MemoStep step(int added, int blocksBefore) {
      return new MemoStep(
          added, Arrays.copyOfRange(chain, blocksBefore, blocks), Arrays.copyOfRange(firsts, blocksBefore, blocks),
          open.copyFrom(0));
    }

    private void append(MemoStep step) {
      reserve(step.blocks.length);
      System.arraycopy(step.blocks, 0, chain, blocks, step.blocks.length);
      System.arraycopy(step.firsts, 0, firsts, blocks, step.firsts.length);
      blocks += step.blocks.length;
      open.clear();
      open.addAll(step.rest);
      reused += step.tokens;
    }

    /** Tokenises a piece; returns how many tokens it has. */
    private int compute(byte[] text, int from, int to) {
      computed += to - from;
      if (computed >= CHECKPOINT_BYTES) {
        computed = 0;
        checkpoint.run();
      }
      int before = tokens();
      tokenizer.encode(text, from, to, open, this::pause);
      hashFull();
      return tokens() - before;
    }

    /** However long a piece is, no more than an unfinished block of its tokens is kept at a checkpoint. */
    private void pause() {
      hashFull();
      checkpoint.run();
    }

    private int tokens() {
      return blocks * namespace.blockSize() + open.size();
    }

    private void add(int[] ids) {
      open.addAll(ids);
      hashFull();
    }

    private void hashFull() {
      int size = namespace.blockSize();
      reserve(open.size() / size);
      long parent = blocks == 0 ? BlockHash.NONE : chain[blocks - 1];
      int full = namespace.hash().chain(parent, open.array(), 0, open.size(), size, chain, blocks);
      for (int i = 0; i < full; i++) {
        firsts[blocks + i] = BlockHash.fold(open.array()[i * size]);
      }
      blocks += full;
      open.removeFirst(full * size);
    }

    private void reserve(int more) {
      if (blocks + more > chain.length) {
        chain = Arrays.copyOf(chain, Math.max(2 * chain.length, blocks + more));
        firsts = Arrays.copyOf(firsts, chain.length);
      }
    }

    private HashValue128 root(boolean special) {
      return hasher.hashStream()
          .putLong(tokenizer.number()).putString(namespace.id()).putBoolean(special).get();
    }

    private HashValue128 after(HashValue128 before, byte[] text, int from, int to) {
      System.arraycopy(before.toByteArray(), 0, link, 0, HASH_BYTES);
      System.arraycopy(hasher.hashBytesTo128Bits(text, from, to - from).toByteArray(), 0, link, HASH_BYTES, HASH_BYTES);
      return hasher.hashBytesTo128Bits(link);
    }
  }
}
