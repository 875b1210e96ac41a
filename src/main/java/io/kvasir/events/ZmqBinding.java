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
final class ZmqBinding implements ZmqPort.Handler {
  private static final int MAX_KNOWN = 4096;

  private final ZmqLoop loop;
  private final String endpoint;
  private final ZmqPort port;
  private final List<ZmqLink> links = new ArrayList<>();
  private final Map<String, ZmqLink> byTopic = new HashMap<>();

  ZmqBinding(ZmqLoop loop, String endpoint) {
    this.loop = loop;
    this.endpoint = endpoint;
    var socket = loop.socket(SocketType.SUB);
    try {
      socket.setRcvHWM(ZmqLink.RECEIVE_HWM);
      socket.bind(endpoint);
    } catch (RuntimeException e) {
      socket.close();
      throw e;
    }
    this.port = loop.port(socket, this);
  }

  void add(ZmqLink link) {
    for (ZmqLink other : links) {
      if (other.topic().equals(link.topic())) {
        throw new IllegalStateException(
            "two workers at " + endpoint + " with the topic '" + link.topic() + "': give each its own");
      }
    }
    links.add(link);
    byTopic.clear();
    port.socket().subscribe(link.topic());
    loop.serveSoon(port);
  }

  void remove(ZmqLink link) {
    if (!links.remove(link)) {
      return;
    }
    byTopic.clear();
    port.socket().unsubscribe(link.topic());
    if (links.isEmpty()) {
      loop.unbind(endpoint);
      loop.close(port);
    } else {
      resume();
    }
  }

  void resume() {
    loop.resume(port);
  }

  @Override
  public boolean ready() {
    for (ZmqLink link : links) {
      if (!link.ready()) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void message(byte[][] frames, int count) {
    ZmqLink link = find(new String(frames[0], UTF_8));
    if (link != null) {
      link.message(frames, count);
    }
  }

  @Override
  public void failed(RuntimeException why) {
    List.copyOf(links).forEach(link -> link.fail(why));
  }

  private @Nullable ZmqLink find(String topic) {
    ZmqLink known = byTopic.get(topic);
    if (known != null) {
      return known;
    }
    ZmqLink longest = null;
    for (ZmqLink link : links) {
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
