package io.kvasir.doctor;

import java.util.function.Consumer;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Hands an engine's events on to wherever else they are kept, as a sidecar does. */
final class EventBridge implements AutoCloseable {
  private static final int POLL_MILLIS = 10;

  private final Thread thread;
  private volatile boolean heard;
  private volatile boolean closing;

  /** Begins; {@code onPayload} takes each message's payload. */
  EventBridge(String endpoint, Consumer<byte[]> onPayload) {
    this.thread = Thread.ofPlatform().daemon().start(() -> run(endpoint, onPayload));
  }

  private void run(String endpoint, Consumer<byte[]> onPayload) {
    try (ZContext context = new ZContext(1); ZMQ.Socket sub = context.createSocket(SocketType.SUB)) {
      sub.setReceiveTimeOut(POLL_MILLIS);
      sub.subscribe(new byte[0]);
      sub.connect(endpoint);
      while (!closing) {
        byte[] frame = sub.recv();
        if (frame != null) {
          while (sub.hasReceiveMore()) {
            frame = sub.recv();
          }
          onPayload.accept(frame);
          heard = true;
        }
      }
    }
  }

  /** Whether anything has been handed on: what an engine publishes before its subscribers are connected is lost. */
  boolean heard() {
    return heard;
  }

  @Override
  public void close() {
    closing = true;
    try {
      thread.join();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }
}
