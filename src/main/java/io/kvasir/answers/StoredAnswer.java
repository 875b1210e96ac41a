package io.kvasir.answers;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A stored answer. Its status is 200; of its headers only the content type is kept.
 *
 * @param contentType as the engine wrote it
 * @param body as it was sent to the first client; not to be changed
 * @param storedAt when
 */
public record StoredAnswer(String contentType, byte[] body, Instant storedAt) {
  private static final byte FORMAT = 2;
  private static final int DIGEST = 32;
  private static final int FIXED = 1 + Long.BYTES + DIGEST + Integer.BYTES;

  /** Whether it is an event stream. */
  public boolean isEvents() {
    return AnswerCheck.isEvents(contentType);
  }

  /** With the digest of the request it answers, as another process can read it. */
  byte[] encoded(AnswerKey key) {
    byte[] type = contentType.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(FIXED + type.length + body.length)
        .put(FORMAT)
        .putLong(storedAt.toEpochMilli())
        .put(key.digest())
        .putInt(type.length)
        .put(type)
        .put(body)
        .array();
  }

  /** What was encoded; null when it is of another format or answers another request. */
  static @Nullable StoredAnswer decoded(byte[] bytes, AnswerKey key) {
    if (bytes.length < FIXED || bytes[0] != FORMAT) {
      return null;
    }
    ByteBuffer in = ByteBuffer.wrap(bytes, 1, bytes.length - 1);
    Instant keptAt = Instant.ofEpochMilli(in.getLong());
    byte[] digest = new byte[DIGEST];
    in.get(digest);
    int type = in.getInt();
    if (!Arrays.equals(digest, key.digest()) || type < 0 || type > in.remaining()) {
      return null;
    }
    int from = in.position();
    return new StoredAnswer(
        new String(bytes, from, type, StandardCharsets.UTF_8),
        Arrays.copyOfRange(bytes, from + type, bytes.length),
        keptAt);
  }
}
