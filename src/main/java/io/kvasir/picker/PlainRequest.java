package io.kvasir.picker;

import io.kvasir.http.Headers;
import io.kvasir.http.MemoryBudget;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.ContentCoding;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A request as it is read: without the coding of its body, where that can be removed.
 *
 * @param body the very body that came, where it has no coding or one that cannot be removed; the latter still has its
 *     header
 */
record PlainRequest(Headers headers, byte[] body) {
  private static final int FIRST_BYTES = 16 << 10;
  private static final long BOOKED_PER_BYTE = 1 + RequestMemory.READING_PER_BYTE;

  /**
   * Reads what has come.
   *
   * @param most the longest body that is read
   */
  static PlainRequest of(ShownRequest shown, int most, MemoryBudget.Account memory) {
    Headers headers = shown.head().headers();
    byte[] body = shown.body();
    ContentCoding coding = body.length == 0 ? ContentCoding.IDENTITY : ContentCoding.of(headers);
    byte[] plain = coding == null || coding == ContentCoding.IDENTITY ? null : decoded(coding, body, most, memory);
    if (plain == null) {
      return new PlainRequest(headers, body);
    }
    // Nobody reads the body as it came.
    memory.free((long) RequestMemory.READING_PER_BYTE * body.length);
    return new PlainRequest(headers.toBuilder().remove(ContentCoding.HEADER).build(), plain);
  }

  /** The body without its coding; null when that cannot be removed, or there is no room for what it becomes. */
  private static byte @Nullable [] decoded(ContentCoding coding, byte[] body, int most, MemoryBudget.Account memory) {
    byte[] plain = new byte[0];
    int size = 0;
    try (InputStream in = coding.decoded(body)) {
      while (true) {
        if (size == plain.length) {
          // The byte beyond the longest body shows that there is one.
          int longer = (int) Math.min(most + 1L, Math.max(FIRST_BYTES, 2L * size));
          if (size > most
              || ContentCoding.isBomb(body.length, size)
              || !memory.tryBook(BOOKED_PER_BYTE * (longer - size))) {
            break;
          }
          plain = Arrays.copyOf(plain, longer);
        }
        int read = in.read(plain, size, plain.length - size);
        if (read < 0) {
          memory.free(BOOKED_PER_BYTE * (plain.length - size));
          return Arrays.copyOf(plain, size);
        }
        size += read;
      }
    } catch (IOException malformed) {
      // It is for the worker to judge.
    }
    memory.free(BOOKED_PER_BYTE * plain.length);
    return null;
  }
}
