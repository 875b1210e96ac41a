package io.kvasir.events;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;

/**
 * A bound SUB socket to which the engines of several workers connect. Their messages are routed by topic: to the
 * subscriber with the longest matching prefix. A subscriber with a full queue holds up the others: nothing is dropped
 * here. Belongs to a loop's thread.
 */
final class ZmqBinding implements ZmqChannel.FrameHandler {
  /** Messages ZMQ may hold for us beside its network buffers. */
  static final int RECEIVE_HWM = 4096;

  private static final int MAX_KNOWN = 4096;

  private final ZmqLoop loop;
  private final String endpoint;
  private final Runnable onClose;
  private final ZmqChannel channel;
  private final List<TopicSubscriber> subscriptions = new ArrayList<>();
  private final Map<String, TopicSubscriber> byTopic = new HashMap<>();

  /** A subscription to the messages of one topic. */
  interface TopicSubscriber extends ZmqChannel.FrameHandler {
    /** The prefix of the messages' topics. */
    String topic();
  }

  /**
   * Binds the socket.
   *
   * @param onClose called when the last subscriber was removed and the socket closes
   */
  ZmqBinding(ZmqLoop loop, String endpoint, Runnable onClose) {
    this.loop = loop;
    this.endpoint = endpoint;
    this.onClose = onClose;
    var socket = loop.socket(SocketType.SUB);
    try {
      socket.setRcvHWM(RECEIVE_HWM);
      socket.bind(endpoint);
    } catch (RuntimeException e) {
      socket.close();
      throw e;
    }
    this.channel = loop.channel(socket, this);
  }

  void add(TopicSubscriber subscriber) {
    for (TopicSubscriber other : subscriptions) {
      if (other.topic().equals(subscriber.topic())) {
        throw new IllegalStateException(
            "two workers at " + endpoint + " with the topic '" + subscriber.topic() + "': give each its own");
      }
    }
    subscriptions.add(subscriber);
    byTopic.clear();
    channel.socket().subscribe(subscriber.topic());
    loop.serveSoon(channel);
  }

  void remove(TopicSubscriber subscriber) {
    if (!subscriptions.remove(subscriber)) {
      return;
    }
    byTopic.clear();
    channel.socket().unsubscribe(subscriber.topic());
    if (subscriptions.isEmpty()) {
      onClose.run();
      loop.close(channel);
    } else {
      resume();
    }
  }

  void resume() {
    loop.resume(channel);
  }

  @Override
  public boolean ready() {
    for (TopicSubscriber subscriber : subscriptions) {
      if (!subscriber.ready()) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void message(byte[][] frames, int count) {
    TopicSubscriber subscriber = find(new String(frames[0], UTF_8));
    if (subscriber != null) {
      subscriber.message(frames, count);
    }
  }

  @Override
  public void failed(RuntimeException why) {
    List.copyOf(subscriptions).forEach(subscriber -> subscriber.failed(why));
  }

  private @Nullable TopicSubscriber find(String topic) {
    TopicSubscriber known = byTopic.get(topic);
    if (known != null) {
      return known;
    }
    TopicSubscriber longest = null;
    for (TopicSubscriber subscriber : subscriptions) {
      if (topic.startsWith(subscriber.topic())
          && (longest == null || subscriber.topic().length() > longest.topic().length())) {
        longest = subscriber;
      }
    }
    if (longest != null && byTopic.size() < MAX_KNOWN) {
      byTopic.put(topic, longest);
    }
    return longest;
  }
}
