package io.kvasir.events;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** The 16 random bytes that name a publisher as long as it lives, in eight ({@link SnapshotFormat#VLLM_57789}). */
final class PublisherId {
  /** No publisher is named. */
  static final long NONE = 0;

  private static final int BYTES = 16;
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private PublisherId() {}

  /** Of these bytes; {@link #NONE} where they are not as many. */
  static long of(byte[] bytes) {
    return bytes.length == BYTES ? ((long) LONG.get(bytes, 0) ^ (long) LONG.get(bytes, Long.BYTES)) | 1 : NONE;
  }

  /** Whether two are those of different publishers: both are known. */
  static boolean differ(long one, long other) {
    return one != NONE && other != NONE && one != other;
  }
}
