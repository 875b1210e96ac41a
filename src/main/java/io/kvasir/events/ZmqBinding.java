package io.kvasir.events;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;

/**
 * A bound SUB socket that several workers' engines dial in to. Their messages are told apart by topic: a worker
 * gets those that begin with its own, the longest match counting. One of them that is not taken from fast
 * enough holds up the others: nothing is dropped here. Belongs to a loop's thread.
 */
final class ZmqBinding implements ZmqChannel.FrameHandler {
  private static final int MAX_KNOWN = 4096;

  private final ZmqLoop loop;
  private final String endpoint;
  private final ZmqChannel channel;
  private final List<ZmqSubscription> subscriptions = new ArrayList<>();
  private final Map<String, ZmqSubscription> byTopic = new HashMap<>();

  ZmqBinding(ZmqLoop loop, String endpoint) {
    this.loop = loop;
    this.endpoint = endpoint;
    var socket = loop.socket(SocketType.SUB);
    try {
      socket.setRcvHWM(ZmqSubscription.RECEIVE_HWM);
      socket.bind(endpoint);
    } catch (RuntimeException e) {
      socket.close();
      throw e;
    }
    this.channel = loop.channel(socket, this);
  }

  void add(ZmqSubscription link) {
    for (ZmqSubscription other : subscriptions) {
      if (other.topic().equals(link.topic())) {
        throw new IllegalStateException(
            "two workers at " + endpoint + " with the topic '" + link.topic() + "': give each its own");
      }
    }
    subscriptions.add(link);
    byTopic.clear();
    channel.socket().subscribe(link.topic());
    loop.serveSoon(channel);
  }

  void remove(ZmqSubscription link) {
    if (!subscriptions.remove(link)) {
      return;
    }
    byTopic.clear();
    channel.socket().unsubscribe(link.topic());
    if (subscriptions.isEmpty()) {
      loop.unbind(endpoint);
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
    for (ZmqSubscription link : subscriptions) {
      if (!link.ready()) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void message(byte[][] frames, int count) {
    ZmqSubscription link = find(new String(frames[0], UTF_8));
    if (link != null) {
      link.message(frames, count);
    }
  }

  @Override
  public void failed(RuntimeException why) {
    List.copyOf(subscriptions).forEach(link -> link.fail(why));
  }

  private @Nullable ZmqSubscription find(String topic) {
    ZmqSubscription known = byTopic.get(topic);
    if (known != null) {
      return known;
    }
    ZmqSubscription longest = null;
    for (ZmqSubscription link : subscriptions) {
      if (topic.startsWith(link.topic())
          && (longest == null || link.topic().length() > longest.topic().length())) {
        longest = link;
      }
    }
    if (longest != null && byTopic.size() < MAX_KNOWN) {
      byTopic.put(topic, longest);
    }
    return longest;
  }
}
