package io.kvasir.cell.standby;

import io.kvasir.cell.events.AppliedPosition;
import io.kvasir.cell.events.BlockChangeListener;
import io.kvasir.cell.events.GroupChange;
import io.kvasir.index.Holdings;
import io.kvasir.index.Tier;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Writes what changes in a worker's blocks for {@link ReplicatedWorker}, which reads it: a byte that names the change,
 * and what it is, big-endian. Two versions of the router that run side by side have to agree on it. Not thread-safe.
 */
final class ReplicaWriter {
  static final byte BEGIN = 1;
  static final byte PART = 2;
  static final byte SALT = 3;
  static final byte COMPLETE = 4;
  static final byte STORED = 5;
  static final byte REMOVED = 6;
  static final byte CLEARED = 7;
  static final byte POSITION = 8;
  static final byte COPIED = 9;

  /** Of a position. */
  static final byte LOST = 1;

  static final byte HYBRID = 2;

  static final byte ONCE_COMPUTED = 4;
  static final byte CUT = 8;

  /** Keys in one frame: what is written of one change stays well below a cluster message's size. */
  static final int MAX_KEYS = 1024;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final DataOutputStream out = new DataOutputStream(bytes);
  private final ByteArrayOutputStream groupBytes = new ByteArrayOutputStream();
  private final DataOutputStream groups = new DataOutputStream(groupBytes);

  @FunctionalInterface
  private interface Change {
    void write() throws IOException;
  }

  /** Bytes written and not taken. */
  int size() {
    return bytes.size() + groupBytes.size();
  }

  /** Takes what has been written. */
  ReplicaChanges take() {
    ReplicaChanges taken = new ReplicaChanges(bytes.toByteArray(), groupBytes.toByteArray());
    bytes.reset();
    groupBytes.reset();
    return taken;
  }

  /** Begins a snapshot of everything. */
  void begin() {
    write(() -> out.writeByte(BEGIN));
  }

  /** A part of everything. */
  void part(Holdings.Blocks part) {
    write(() -> {
      out.writeByte(PART);
      longs(part.follows(), 0, part.follows().length);
      ints(part.lengths());
      ints(part.held());
      longs(part.hashes(), 0, part.hashes().length);
      longs(part.keys(), 0, part.keys().length);
      ints(part.blocks());
      ints(part.copies());
    });
  }

  /** Keys that are under a salt, {@value #MAX_KEYS} at most. */
  void salt(String salt, long[] keys, int from) {
    write(() -> {
      out.writeByte(SALT);
      text(salt);
      longs(keys, from, Math.min(MAX_KEYS, keys.length - from));
    });
  }

  /** Ends the snapshot. */
  void complete() {
    write(() -> out.writeByte(COMPLETE));
  }

  /** As {@link BlockChangeListener#stored}, {@value #MAX_KEYS} blocks at most. */
  void stored(
      long parentKey,
      boolean root,
      long[] keys,
      long[] hashes,
      int from,
      int count,
      Tier tier,
      boolean counted,
      @Nullable String salt) {
    int some = Math.min(MAX_KEYS, count - from);
    write(() -> {
      out.writeByte(STORED);
      out.writeBoolean(root && from == 0);
      out.writeLong(from == 0 ? parentKey : keys[from - 1]);
      out.writeByte(tier.index());
      out.writeBoolean(counted);
      out.writeBoolean(salt != null);
      if (salt != null) {
        text(salt);
      }
      longs(keys, from, some);
      longs(hashes, from, some);
    });
  }

  /** As {@link BlockChangeListener#copied}, {@value #MAX_KEYS} keys at most. */
  void copied(long[] keys, int from, Tier tier, boolean counted) {
    ofKeys(COPIED, keys, from, tier, counted);
  }

  /** As {@link BlockChangeListener#removed}, {@value #MAX_KEYS} keys at most. */
  void removed(long[] keys, int from, Tier tier, boolean counted) {
    ofKeys(REMOVED, keys, from, tier, counted);
  }

  private void ofKeys(byte change, long[] keys, int from, Tier tier, boolean counted) {
    write(() -> {
      out.writeByte(change);
      out.writeByte(tier.index());
      out.writeBoolean(counted);
      longs(keys, from, Math.min(MAX_KEYS, keys.length - from));
    });
  }

  /** As {@link BlockChangeListener#cleared}. */
  void cleared() {
    write(() -> out.writeByte(CLEARED));
  }

  /** A change of a hybrid model's groups. */
  void ofGroups(GroupChange change) {
    write(() -> GroupChangeCodec.write(change, groups));
  }

  /** How far the worker's events have been applied. */
  void position(AppliedPosition position) {
    write(() -> {
      out.writeByte(POSITION);
      out.writeLong(position.stream().sequence());
      out.writeLong(position.stream().publishedAt());
      out.writeInt(position.blockSize());
      out.writeInt(position.prefixGroup());
      // Who does not know of hybrids, or not of their groups, reads the stream anew.
      out.writeByte(
          (position.lost() ? LOST : 0) | (position.hybrid() ? HYBRID : 0)
              | (position.onceComputed() ? ONCE_COMPUTED : 0) | (position.cut() ? CUT : 0));
    });
  }

  private void text(String text) throws IOException {
    byte[] utf = text.getBytes(StandardCharsets.UTF_8);
    out.writeInt(utf.length);
    out.write(utf);
  }

  private void longs(long[] values, int from, int count) throws IOException {
    out.writeInt(count);
    for (int i = from; i < from + count; i++) {
      out.writeLong(values[i]);
    }
  }

  private void ints(int[] values) throws IOException {
    out.writeInt(values.length);
    for (int value : values) {
      out.writeInt(value);
    }
  }

  private static void write(Change change) {
    try {
      change.write();
    } catch (IOException impossible) {
      throw new UncheckedIOException("memory does not fail", impossible);
    }
  }
}
