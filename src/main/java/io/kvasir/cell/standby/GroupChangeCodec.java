package io.kvasir.cell.standby;

import io.kvasir.cell.events.GroupChange;
import io.kvasir.events.KvEvent.Spec;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Writes and reads changes of a hybrid model's groups: a byte that names the change, and what it is, big-endian. They
 * stand apart from those of the prefix, so that a version of the router that does not know them leaves them out.
 */
final class GroupChangeCodec {
  private static final byte BEGUN = 1;
  private static final byte STORED = 2;
  private static final byte PLACED = 3;
  private static final byte REMOVED = 4;
  private static final byte CLEARED = 5;

  private static final byte FULL = 1;
  private static final byte SLIDING_WINDOW = 2;
  private static final byte STATE = 3;
  private static final byte LOOKAHEAD = 4;

  /** Beside the kind of a group whose blocks prompts share only where they go on alike. */
  private static final int BY_LOOKAHEAD = 0x10;

  private GroupChangeCodec() {}

  static void write(GroupChange change, DataOutputStream out) throws IOException {
    switch (change) {
      case GroupChange.Begun(int prefixBlockSize) -> {
        out.writeByte(BEGUN);
        out.writeInt(prefixBlockSize);
      }
      case GroupChange.Stored stored -> {
        out.writeByte(STORED);
        out.writeInt(stored.group());
        out.writeByte(kind(stored.spec()) | (stored.least() > 0 ? BY_LOOKAHEAD : 0));
        out.writeInt(stored.spec().window());
        if (stored.least() > 0) {
          out.writeInt(stored.least());
        }
        out.writeInt(stored.blockSize());
        out.writeBoolean(stored.sparse());
        write(stored.keys(), out);
        write(stored.hashes(), out);
        out.writeBoolean(stored.counted());
      }
      case GroupChange.Placed(long[] keys, long[] hashes) -> {
        out.writeByte(PLACED);
        write(keys, out);
        write(hashes, out);
      }
      case GroupChange.Removed(int group, long[] keys, boolean counted) -> {
        out.writeByte(REMOVED);
        out.writeInt(group);
        write(keys, out);
        out.writeBoolean(counted);
      }
      case GroupChange.Cleared() -> out.writeByte(CLEARED);
    }
  }

  /** The next change of those that are left. */
  static GroupChange read(ByteBuffer in) {
    byte change = in.get();
    return switch (change) {
      case BEGUN -> new GroupChange.Begun(in.getInt());
      case STORED -> {
        int group = in.getInt();
        int kind = in.get();
        Spec spec = spec(kind & ~BY_LOOKAHEAD, in.getInt());
        int least = (kind & BY_LOOKAHEAD) == 0 ? 0 : in.getInt();
        yield new GroupChange.Stored(
            group, spec, least, in.getInt(), in.get() != 0, longs(in), longs(in), in.get() != 0);
      }
      case PLACED -> new GroupChange.Placed(longs(in), longs(in));
      case REMOVED -> new GroupChange.Removed(in.getInt(), longs(in), in.get() != 0);
      case CLEARED -> new GroupChange.Cleared();
      default -> throw new IllegalArgumentException("a change of groups of an unknown kind: " + change);
    };
  }

  private static byte kind(Spec spec) {
    return switch (spec.kind()) {
      case FULL -> FULL;
      case SLIDING_WINDOW -> SLIDING_WINDOW;
      case STATE -> STATE;
      case LOOKAHEAD -> LOOKAHEAD;
      case OTHER, UNSPECIFIED -> throw new IllegalArgumentException(spec + " is not followed");
    };
  }

  private static Spec spec(int kind, int window) {
    return switch (kind) {
      case FULL -> Spec.FULL;
      case SLIDING_WINDOW -> new Spec(Spec.Kind.SLIDING_WINDOW, window);
      case STATE -> Spec.STATE;
      case LOOKAHEAD -> Spec.LOOKAHEAD;
      default -> throw new IllegalArgumentException("a group of an unknown kind: " + kind);
    };
  }

  private static void write(long[] values, DataOutputStream out) throws IOException {
    out.writeInt(values.length);
    for (long value : values) {
      out.writeLong(value);
    }
  }

  private static long[] longs(ByteBuffer in) {
    long[] values = new long[in.getInt()];
    in.asLongBuffer().get(values);
    in.position(in.position() + values.length * Long.BYTES);
    return values;
  }
}
