package io.kvasir.execution.stream;

import io.kvasir.http.SseEvents;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Reads the data of whole events. One thread at a time. */
final class EventData {
  private static final String DONE = "[DONE]";

  private final SseEvents reader = new SseEvents((_, read) -> data = read);
  private byte @Nullable [] data;

  /** The data of the event {@code bytes[from, to)}, null when it has none. */
  byte @Nullable [] of(byte[] bytes, int from, int to) throws IOException {
    data = null;
    reader.accept(bytes, from, to - from);
    reader.end();
    return data;
  }

  /** Whether the data is the terminator of OpenAI's streams. */
  static boolean isDone(byte[] data) {
    return data.length <= DONE.length() + 1
        && new String(data, StandardCharsets.US_ASCII).strip().equals(DONE);
  }

  /** The terminator of OpenAI's streams. */
  static byte[] done() {
    return DONE.getBytes(StandardCharsets.US_ASCII);
  }
}
