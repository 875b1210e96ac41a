package io.kvasir.events;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZMQ.Socket;

/**
 * A subscription to the load that one rank publishes. Of a load only the newest counts, so there is no order to keep
 * and nothing to have again: what is lost is made up for by the next message. Belongs to its loop's thread.
 */
final class ZmqLoadSubscription implements ZmqLoop.Subscription, ZmqChannel.FrameHandler {
  private static final Logger LOG = LoggerFactory.getLogger(ZmqLoadSubscription.class);

  /** Messages ZMQ may hold for us beside its network buffers; older ones are worth nothing. */
  private static final int RECEIVE_HWM = 16;

  /** A message has some hundred bytes; a publisher of longer ones is disconnected. */
  private static final long MAX_MESSAGE = 64 << 10;

  private static final int FRAMES = 3;
  private static final long RETRY_MILLIS = 5000;

  private final ZmqLoop loop;
  private final String endpoint;
  private final String topic;
  private final LoadListener listener;
  private @Nullable ZmqChannel channel;
  private boolean closed;

  /** Whether it was logged that it failed, and no message has come since. */
  private boolean failing;

  ZmqLoadSubscription(ZmqLoop loop, String endpoint, String topic, LoadListener listener) {
    this.loop = loop;
    this.endpoint = endpoint;
    this.topic = topic;
    this.listener = listener;
  }

  void open() {
    loop.add(this);
    connect();
  }

  /** Connects; tried again until it can be. */
  private void connect() {
    if (closed) {
      return;
    }
    try {
      Socket socket = loop.socket(SocketType.SUB);
      channel = loop.channel(socket, this);
      socket.setRcvHWM(RECEIVE_HWM);
      socket.setMaxMsgSize(MAX_MESSAGE);
      socket.subscribe(topic);
      socket.connect(endpoint);
      loop.serveSoon(channel);
    } catch (RuntimeException failed) {
      failed(failed);
    }
  }

  @Override
  public boolean ready() {
    return true;
  }

  /** A message: topic, number, payload. Numbers begin again with each process and may have gaps: they do not matter. */
  @Override
  public void message(byte[][] frames, int count) {
    failing = false;
    LoadMessage load =
        count == FRAMES && frames[1].length == Long.BYTES ? LoadMessage.decode(frames[2]) : null;
    if (load == null) {
      listener.malformed();
    } else {
      listener.loaded(load);
    }
  }

  @Override
  public void failed(RuntimeException why) {
    if (!failing) {
      failing = true;
      LOG.warn("load that {} publishes cannot be read; trying again: {}", endpoint, why.toString());
    }
    closeChannel();
    loop.executeAfter(RETRY_MILLIS, this::connect, this::failed);
  }

  @Override
  public void end() {
    close();
  }

  /** Releases everything; idempotent. */
  void close() {
    closed = true;
    loop.remove(this);
    closeChannel();
  }

  private void closeChannel() {
    if (channel != null) {
      loop.close(channel);
      channel = null;
    }
  }
}
