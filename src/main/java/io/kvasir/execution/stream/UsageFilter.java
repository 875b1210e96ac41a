package io.kvasir.execution.stream;

import io.kvasir.http.ByteSink;
import java.io.IOException;
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
  private final AnswerTap tap = new AnswerTap(AnswerTap.Form.EVENTS);
  private byte[] pending = new byte[1 << 10];
  private int length;
  /** Whether a part of the current event has been written to the client. */
  private boolean passThrough;

  public UsageFilter(ByteSink client) {
    this.client = client;
  }

  @Override
  public void write(byte[] bytes, int offset, int count) throws IOException {
    int to = offset + count;
    int from = offset;
    while (from < to) {
      int end = tap.acceptEvent(bytes, from, to);
      if (end < 0) {
        hold(bytes, from, to);
        return;
      }
      if (passThrough || !tap.usageOnly()) {
        client.write(pending, 0, length);
        client.write(bytes, from, end - from);
      }
      length = 0;
      passThrough = false;
      from = end;
    }
  }

  @Override
  public void end() throws IOException {
    tap.end();
    if (passThrough || !tap.usageOnly()) {
      client.write(pending, 0, length);
    }
    length = 0;
  }

  private void hold(byte[] bytes, int from, int to) throws IOException {
    int added = to - from;
    if (passThrough || length + added > MAX_HELD) {
      client.write(pending, 0, length);
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
