package io.kvasir.execution.stream;

import io.kvasir.http.ByteSink;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * Keeps from the client the event that {@code stream_options.include_usage} adds to a stream, where the
 * router requested it and the client did not. Every other byte passes; an event is held until it is
 * whole, or too long to be that one. One thread at a time.
 */
public final class UsageFilter implements BodyFilter {
  /** Far above any event that holds usage alone. */
  private static final int MAX_HELD = 16 << 10;

  private final WholeEvents events;

  /** A filter of its own. */
  public UsageFilter(ByteSink client) {
    this(client, new AnswerTap(AnswerTap.Form.EVENTS));
  }

  /** A filter that has {@code tap}, an event stream's, watch what passes: nobody else shows it the bytes. */
  public UsageFilter(ByteSink client, AnswerTap tap) {
    events = new WholeEvents(
        client, tap, MAX_HELD, null, (_, _, _) -> tap.usageOnly() ? WholeEvents.Editor.NOTHING : null);
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
    events.write(bytes, offset, count);
  }

  /** Passes an event without its end, unless it has usage alone. */
  @Override
  public void end() throws IOException {
    events.end();
  }
}
