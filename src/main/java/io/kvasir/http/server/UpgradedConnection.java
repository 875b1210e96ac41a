package io.kvasir.http.server;

import io.kvasir.http.DuplexSink;
import io.kvasir.http.Headers;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A client's connection from the answer 101 on, whose exchange is then the only one that writes and takes. Pekko has
 * handed its last request out and writes nothing more. One thread writes at a time.
 */
final class UpgradedConnection implements DuplexSink, InboundStream.UpgradedInput {
  private static final byte[] NONE = new byte[0];

  private final Client client;
  private final Consumer<InboundStream.UpgradedInput> takeOver;
  private final ClientInput input;
  private final ClientOutput output;
  private final NanoClock clock;
  private volatile @Nullable Listener listener;
  private volatile long lastBytes;

  /** What came with the request, until it is taken; null before {@link #begin}. */
  private volatile byte @Nullable [] first;

  private volatile boolean broken;

  /** Whose connection it is. */
  interface Client {
    /** Whether it has disconnected. */
    boolean isDisconnected();

    /** Ends everything: it has disconnected. */
    void disconnected();
  }

  /**
   * A connection that has not been listened to.
   *
   * @param takeOver has the input go to this connection, and {@link #begin} called
   */
  UpgradedConnection(
      Client client,
      ClientInput input,
      ClientOutput output,
      Consumer<InboundStream.UpgradedInput> takeOver,
      NanoClock clock) {
    this.client = client;
    this.takeOver = takeOver;
    this.input = input;
    this.output = output;
    this.clock = clock;
    this.lastBytes = clock.nanos();
  }

  /** Sends the head of the answer, whose headers name the protocol. */
  void sendHead(Headers headers) throws IOException {
    StringBuilder head = new StringBuilder(256);
    head.append("HTTP/1.1 101 Switching Protocols\r\nServer: kvasir\r\nConnection: Upgrade\r\n");
    for (int i = 0; i < headers.size(); i++) {
      head.append(headers.name(i)).append(": ").append(headers.value(i)).append("\r\n");
    }
    byte[] bytes = head.append("\r\n").toString().getBytes(StandardCharsets.UTF_8);
    write(bytes, 0, bytes.length);
  }

  @Override
  public void listen(Listener next) {
    listener = next;
    takeOver.accept(this);
  }

  @Override
  public void begin(byte[] rest) {
    first = rest;
    available();
  }

  @Override
  public void available() {
    Objects.requireNonNull(listener, "nobody listens").available();
  }

  @Override
  public byte @Nullable [] take() {
    byte[] rest = first;
    if (rest == null) {
      return null;
    }
    if (rest.length > 0) {
      first = NONE;
      return rest;
    }
    byte[] taken = input.take();
    if (taken != null) {
      lastBytes = clock.nanos();
    }
    return taken;
  }

  /** For how many nanoseconds nothing has passed in either direction. */
  long quietNanos(long now) {
    return now - lastBytes;
  }

  /** Has it closed in an orderly way. Idempotent. */
  void shutDown() {
    Listener current = listener;
    if (current != null) {
      current.shutDown();
    }
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    checkOpen();
    try {
      output.write(bytes, offset, length);
    } catch (IOException e) {
      throw disconnected(e);
    }
  }

  @Override
  public boolean canOffer() {
    return output.canOffer();
  }

  @Override
  public void offer(byte[] bytes, int offset, int length) throws IOException {
    checkOpen();
    try {
      output.offer(bytes, offset, length);
    } catch (IOException e) {
      // Ending the connection runs what others have registered, for which the offering thread has no time.
      broken = true;
      throw e;
    }
  }

  @Override
  public boolean isBehind() {
    return output.isBehind();
  }

  @Override
  public void flush() throws IOException {
    checkOpen();
    try {
      output.flush();
    } catch (IOException e) {
      throw disconnected(e);
    }
  }

  /** Ends the connection if an offer has found that the client has disconnected. */
  void disconnectIfBroken() {
    if (broken) {
      client.disconnected();
    }
  }

  private void checkOpen() throws IOException {
    if (client.isDisconnected()) {
      throw new IOException("the client disconnected");
    }
    lastBytes = clock.nanos();
  }

  private IOException disconnected(IOException e) {
    client.disconnected();
    return e;
  }
}
