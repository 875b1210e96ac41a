package io.kvasir.execution.stream;

import io.kvasir.http.ByteSink;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;

/**
 * Keeps from the client the event that {@code stream_options.include_usage} adds to a stream, where the
 * router requested it and the client did not. Every other byte passes; an event is held until it is
 * whole, or too long to be that one. One thread at a time.
 */
public final class UsageFilter implements BodyFilter {
  /** Far above any event that holds usage alone. */
  private static final int MAX_HELD = 16 << 10;

  private final ByteSink client;
  private final AnswerTap tap;
  private byte[] pending = new byte[1 << 10];
  private int length;
  /** Whether a part of the current event has been written to the client. */
  private boolean passThrough;

  /** A filter of its own. */
  public UsageFilter(ByteSink client) {
    this(client, new AnswerTap(AnswerTap.Form.EVENTS));
  }

  /** A filter that has {@code tap}, an event stream's, watch what passes: nobody else shows it the bytes. */
  public UsageFilter(ByteSink client, AnswerTap tap) {
    this.client = client;
    this.tap = tap;
  }

  /** The whole events of a stream without the event that has usage alone. */
  public static byte[] strip(byte[] events) {
    ByteArrayOutputStream kept = new ByteArrayOutputStream(events.length);
    UsageFilter filter = new UsageFilter(kept::write);
    try {
      filter.write(events, 0, events.length);
      filter.end();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return kept.toByteArray();
  }

  @Override
  public void write(byte[] bytes, int offset, int count) throws IOException {
    int to = offset + count;
    int from = offset;
    // Events that pass in a row go to the client in one write.
    int unwritten = offset;
    while (from < to) {
      int end = tap.acceptEvent(bytes, from, to);
      if (end < 0) {
        flush(bytes, unwritten, from);
        hold(bytes, from, to);
        return;
      }
      if (passThrough || !tap.usageOnly()) {
        flush(pending, 0, length);
      } else {
        flush(bytes, unwritten, from);
        unwritten = end;
      }
      length = 0;
      passThrough = false;
      from = end;
    }
    flush(bytes, unwritten, to);
  }

  /** Passes an event without its end, unless it has usage alone. */
  @Override
  public void end() throws IOException {
    tap.end();
    if (passThrough || !tap.usageOnly()) {
      flush(pending, 0, length);
    }
    length = 0;
  }

  private void flush(byte[] bytes, int from, int to) throws IOException {
    if (to > from) {
      client.write(bytes, from, to - from);
    }
  }

  private void hold(byte[] bytes, int from, int to) throws IOException {
    int added = to - from;
    if (passThrough || length + added > MAX_HELD) {
      flush(pending, 0, length);
      client.write(bytes, from, added);
      length = 0;
      passThrough = true;
      return;
    }
    if (length + added > pending.length) {
      pending = Arrays.copyOf(pending, Math.min(MAX_HELD, Math.max(2 * pending.length, length + added)));
    }
    System.arraycopy(bytes, from, pending, length, added);
    length += added;
  }
}
