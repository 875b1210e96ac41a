package io.kvasir.cell.events;

import io.kvasir.events.ExtraKey;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Tier;
import java.util.ArrayList;
import java.util.List;

/**
 * The size of an engine's blocks, as configured until its events prove it, and how each is cut into smaller ones: where
 * engines of one model have blocks of several sizes, prompts are cut into those that fit into all, and so is what
 * engines with larger ones hold. A cut block's parts are stored and removed together, so a prompt is found to be there
 * as far as the engine has whole blocks of it, and less than a block further. One thread at a time.
 */
final class EngineBlocks {
  /** An event may name many blocks in few bytes, and each is looked up in all its parts: larger ones stay whole. */
  static final int MAX_PARTS = 64;

  private int size;
  private boolean seen;
  private int wanted;
  private boolean whole;

  /** What the blocks of an event are. */
  enum Fit {
    /** Blocks of the engine's size. */
    WHOLE,
    /** The first ones to show that the engine's size is another than was known. */
    PROOF,
    /** None that has tokens. */
    PLACEHOLDER,
    /** Blocks whose tokens cannot be told apart. */
    UNASSIGNABLE,
    /** One that is still filling. */
    PARTIAL,
    /** Those of another cache. */
    OTHER
  }

  /** Blocks of a size that no event has proven yet, not cut. */
  EngineBlocks(int configured) {
    this.size = configured;
  }

  /** Blocks of a size that is known. */
  static EngineBlocks of(int size) {
    EngineBlocks blocks = new EngineBlocks(size);
    blocks.seen = true;
    return blocks;
  }

  /** Tokens in a block. */
  int size() {
    return size;
  }

  /** Tokens in a block as events have it, 0 until one had it. */
  int seenSize() {
    return seen ? size : 0;
  }

  /** Into how many smaller ones each is cut; 1 for as they are. */
  int parts() {
    boolean fits = seen && !whole && wanted > 0 && size % wanted == 0;
    return fits && size / wanted <= MAX_PARTS ? size / wanted : 1;
  }

  /** Tokens in a block or in a part of one. */
  int partSize() {
    return size / parts();
  }

  /** Has blocks cut into parts of so many tokens where they can be; returns whether others had been made until now. */
  boolean cutInto(int tokens) {
    int before = parts();
    wanted = tokens;
    return parts() != before;
  }

  /** Leaves the blocks as they are until the next start of the engine; returns whether they were cut before. */
  boolean leaveWhole() {
    boolean cut = parts() > 1;
    whole = true;
    return cut;
  }

  /** The engine was started anew: what its blocks are like has to be proven again. */
  void restart() {
    seen = false;
    whole = false;
  }

  /** What the blocks of an event are; those that prove the size count from now on. */
  Fit fit(Stored stored) {
    int tokens = stored.blockSize();
    int count = stored.keys().length;
    if (tokens == 0) {
      return Fit.PLACEHOLDER;
    }
    if ((long) tokens * count != stored.tokens().length) {
      return Fit.UNASSIGNABLE;
    }
    boolean device = stored.tier() == Tier.DEVICE;
    if (tokens == size) {
      seen = true;
      return Fit.WHOLE;
    }
    // A single short block may be one that is still filling; several of a size, or a longer one, are what the
    // engine really uses. Only the device's tell: connectors cut other tiers into chunks of their own.
    if (!seen && device && (tokens > size || count > 1)) {
      size = tokens;
      seen = true;
      return Fit.PROOF;
    }
    return tokens < size && count == 1 && device ? Fit.PARTIAL : Fit.OTHER;
  }

  /** The same event with the parts of its blocks. */
  Stored cut(Stored stored) {
    int parts = parts();
    if (parts == 1) {
      return stored;
    }
    Stored plain = EventHashing.withSaltNamed(stored);
    List<List<ExtraKey>> extraKeys = new ArrayList<>(plain.extraKeys().size() * parts);
    for (List<ExtraKey> ofBlock : plain.extraKeys()) {
      for (int part = 0; part < parts; part++) {
        extraKeys.add(ofBlock);
      }
    }
    return new Stored(
        plain.root(), plain.parentKey(), cut(plain.keys()), plain.tokens(), partSize(), plain.tier(), plain.lora(),
        plain.cacheSalt(), plain.group(), plain.spec(), extraKeys, plain.onceComputed(), plain.lookahead());
  }

  /** The keys of the parts of blocks: the last part of each has the block's own, since others follow that. */
  long[] cut(long[] keys) {
    int parts = parts();
    if (parts == 1) {
      return keys;
    }
    long[] cut = new long[keys.length * parts];
    for (int i = 0; i < keys.length; i++) {
      for (int part = 1; part < parts; part++) {
        cut[i * parts + part - 1] = BlockHash.chained(keys[i], part);
      }
      cut[i * parts + parts - 1] = keys[i];
    }
    return cut;
  }
}
