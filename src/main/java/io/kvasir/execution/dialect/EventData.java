package io.kvasir.execution.dialect;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Cuts an event stream into the data of its events, wherever its bytes are cut. One thread at a time. */
public final class EventData {
  private static final byte[] DATA = "data:".getBytes(StandardCharsets.US_ASCII);

  private final Sink sink;
  private final ByteArrayOutputStream line = new ByteArrayOutputStream(512);

  /** Takes one event's data, without the blank before it. Engines write it in one line. */
  @FunctionalInterface
  public interface Sink {
    /** Takes it; the array is the taker's. */
    void accept(byte[] data) throws IOException;
  }

  /** A stream about to begin. */
  public EventData(Sink sink) {
    this.sink = sink;
  }

  /** Reads on. */
  public void accept(byte[] bytes, int offset, int length) throws IOException {
    int to = offset + length;
    int from = offset;
    for (int at = offset; at < to; at++) {
      if (bytes[at] == '\n' || bytes[at] == '\r') {
        line.write(bytes, from, at - from);
        endLine();
        from = at + 1;
      }
    }
    line.write(bytes, from, to - from);
  }

  /** The stream is over, perhaps within a line. */
  public void end() throws IOException {
    endLine();
  }

  private void endLine() throws IOException {
    if (line.size() == 0) {
      return;
    }
    byte[] whole = line.toByteArray();
    line.reset();
    if (whole.length < DATA.length || !Arrays.equals(whole, 0, DATA.length, DATA, 0, DATA.length)) {
      return;
    }
    int from = DATA.length < whole.length && whole[DATA.length] == ' ' ? DATA.length + 1 : DATA.length;
    sink.accept(Arrays.copyOfRange(whole, from, whole.length));
  }
}
