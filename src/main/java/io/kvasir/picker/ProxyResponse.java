package io.kvasir.picker;

import io.kvasir.http.Headers;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodResponse;
import java.io.IOException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A worker's response as a proxy shows it. One thread at a time. */
final class ProxyResponse implements PodResponse {
  private static final int FIRST_BYTES = 4 << 10;

  private final int status;
  private final Headers headers;
  private final long contentLength;
  private final ResponseInbox inbox;
  private final @Nullable AnswerWriter writer;
  private String served = "";

  /**
   * A response whose head has come.
   *
   * @param contentLength -1 when it is not known
   * @param writer what the proxy gets back; null where it shows nothing and waits for nothing
   */
  ProxyResponse(
      int status, Headers headers, long contentLength, ResponseInbox inbox, @Nullable AnswerWriter writer) {
    this.status = status;
    this.headers = headers;
    this.contentLength = contentLength;
    this.inbox = inbox;
    this.writer = writer;
  }

  /** The proxy has said which address has answered. */
  void served(String address) {
    served = address;
  }

  /** The address that has answered; empty when the proxy has not said. */
  String served() {
    return served;
  }

  @Nullable AnswerWriter writer() {
    return writer;
  }

  @Override
  public int status() {
    return status;
  }

  @Override
  public Headers headers() {
    return headers;
  }

  @Override
  public long contentLength() {
    return contentLength;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws PodException {
    if (writer != null) {
      writer.answerChunks();
    }
    return inbox.read(bytes, offset, length);
  }

  @Override
  public boolean canStream() {
    return true;
  }

  @Override
  public boolean stream(PieceReceiver receiver) throws IOException {
    return inbox.stream(receiver);
  }

  @Override
  public boolean hasEnded() {
    return inbox.hasEnded();
  }

  @Override
  public byte[] readAll(int limit) throws PodException {
    byte[] bytes = new byte[Math.min(limit, FIRST_BYTES)];
    int size = 0;
    while (true) {
      if (size == bytes.length) {
        bytes = Arrays.copyOf(bytes, (int) Math.clamp(bytes.length * 2L, 1, limit + 1L));
      }
      int read = read(bytes, size, bytes.length - size);
      if (read < 0) {
        return Arrays.copyOf(bytes, size);
      }
      size += read;
      if (size > limit) {
        throw new PodException(
            PodException.Kind.PROTOCOL, "sent more than the " + limit + " bytes allowed here", null);
      }
    }
  }

  @Override
  public void close() {
    // What is left of the body is the proxy's.
  }
}
