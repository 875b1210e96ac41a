package io.kvasir.http;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads a stream of server-sent events event by event, wherever its bytes are cut: each one that has data is given to a
 * consumer whole. One thread at a time. {@link #event} writes one.
 */
public final class SseEvents {
  /** Takes one event. */
  @FunctionalInterface
  public interface Consumer {
    /**
     * Takes an event.
     *
     * @param name its name, empty without one
     * @param data its data, lines joined by LF; the array is the consumer's
     */
    void accept(String name, byte[] data) throws IOException;
  }

  private static final byte[] DATA = "data: ".getBytes(StandardCharsets.US_ASCII);

  private final Consumer consumer;
  private final SseScanner scanner = new SseScanner(new Collector());
  private final ByteArrayOutputStream data = new ByteArrayOutputStream(512);
  private String name = "";
  private boolean complete;

  public SseEvents(Consumer consumer) {
    this.consumer = consumer;
  }

  /** An event without a name, of data that has one line. */
  public static byte[] event(byte[] line) {
    byte[] event = Arrays.copyOf(DATA, DATA.length + line.length + 2);
    System.arraycopy(line, 0, event, DATA.length, line.length);
    event[event.length - 2] = '\n';
    event[event.length - 1] = '\n';
    return event;
  }

  /** Reads the next bytes. */
  public void accept(byte[] bytes, int offset, int length) throws IOException {
    int to = offset + length;
    int at = offset;
    while (at >= 0 && at < to) {
      at = scanner.acceptEvent(bytes, at, to);
      giveIfComplete();
    }
  }

  /** Ends the stream, perhaps within an event, which is then given as far as it came. */
  public void end() throws IOException {
    scanner.end();
    giveIfComplete();
  }

  private void giveIfComplete() throws IOException {
    if (complete) {
      complete = false;
      consumer.accept(name, data.toByteArray());
    }
  }

  private final class Collector implements SseScanner.Listener {
    @Override
    public void dataStarted() {
      data.reset();
    }

    @Override
    public void data(byte[] bytes, int from, int to) {
      data.write(bytes, from, to - from);
    }

    @Override
    public void eventEnded(boolean hasData) {
      complete = hasData;
      name = hasData ? scanner.name() : "";
    }
  }
}
