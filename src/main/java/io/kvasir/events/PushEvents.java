package io.kvasir.events;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Event streams of engines that cannot be reached and push what they have instead. Whoever speaks HTTP hands
 * bodies to {@link #push}; a body holds batches as NDJSON (see {@code JsonDecoder}) or as msgpack, one after
 * another. Batches with a number make a sequenced stream. There is no replay: a body that does not fit is refused,
 * and the engine's side keeps it until it does. Thread-safe.
 */
public final class PushEvents {
  private final Map<String, Link> links = new ConcurrentHashMap<>();
  private final EventMetrics.OfSource metrics;

  /** Takes pushes for no worker yet. */
  public PushEvents(EventMetrics metrics) {
    this.metrics = metrics.of("push");
  }

  /**
   * A worker's events.
   *
   * @param key what a push has to know, null when anybody may push
   */
  public EventSource source(String worker, @Nullable String key) {
    return new ResumableSource((queue, last) -> subscribe(worker, key, queue, last), metrics);
  }

  /** Whether a worker's pushed events are read here. */
  public boolean takes(String worker) {
    return links.containsKey(worker);
  }

  /**
   * Takes a body, whole or not at all.
   *
   * @param key what the push says it knows, null for nothing
   * @param sequence number of the first batch of a msgpack body, those after it following;
   *     {@link KvBatch#UNSEQUENCED} for none. JSON batches name their own
   */
  public Pushed push(String worker, @Nullable String key, long sequence, byte[] body) {
    Link link = links.get(worker);
    if (link == null) {
      return new Pushed.NotHere();
    }
    if (!link.opens(key)) {
      return new Pushed.Forbidden();
    }
    return link.push(sequence, body);
  }

  private Runnable subscribe(
      String worker, @Nullable String key, BatchQueue queue, @Nullable StreamPosition last) {
    Link link = new Link(key, queue, last);
    links.put(worker, link);
    return () -> {
      links.remove(worker, link);
      link.close();
    };
  }

  private record Item(Decoded decoded, int bytes) {}

  private final class Link {
    private final byte @Nullable [] key;
    private final BatchQueue queue;
    private final Inbox inbox;
    private final JsonDecoder json = new JsonDecoder();
    private final EventDecoder msgpack = new EventDecoder();

    Link(@Nullable String key, BatchQueue queue, @Nullable StreamPosition last) {
      this.key = key == null ? null : key.getBytes(UTF_8);
      this.queue = queue;
      this.inbox = new Inbox(queue, metrics, last);
    }

    boolean opens(@Nullable String offered) {
      return key == null || (offered != null && MessageDigest.isEqual(key, offered.getBytes(UTF_8)));
    }

    synchronized Pushed push(long sequence, byte[] body) {
      if (queue.full()) {
        metrics.refused();
        return new Pushed.Full();
      }
      List<Item> items = new ArrayList<>();
      Pushed.Malformed malformed = PayloadDecoder.isJson(body) ? lines(body, items) : batches(sequence, body, items);
      if (malformed != null) {
        return malformed;
      }
      inbox.connected(true);
      items.forEach(item -> inbox.message(item.decoded(), item.bytes()));
      return new Pushed.Taken(items.size(), inbox.next(), inbox.whole());
    }

    synchronized void close() {
      inbox.close();
    }

    private Pushed.@Nullable Malformed lines(byte[] body, List<Item> items) {
      int line = 0;
      for (int from = 0; from < body.length; ) {
        int end = from;
        boolean blank = true;
        while (end < body.length && body[end] != '\n') {
          blank &= body[end] <= ' ';
          end++;
        }
        line++;
        if (!blank) {
          Decoded decoded = json.decode(KvBatch.UNSEQUENCED, body, from, end - from);
          if (!add(decoded, end - from, items)) {
            return new Pushed.Malformed(line, String.valueOf(decoded.detail()));
          }
        }
        from = end + 1;
      }
      return null;
    }

    private Pushed.@Nullable Malformed batches(long sequence, byte[] body, List<Item> items) {
      int from = 0;
      while (from < body.length) {
        long number = sequence == KvBatch.UNSEQUENCED ? sequence : sequence + items.size();
        Decoded decoded = msgpack.decode(number, body, from);
        int bytes = msgpack.end() - from;
        if (!add(decoded, bytes, items)) {
          return new Pushed.Malformed(items.size() + 1, String.valueOf(decoded.detail()));
        }
        from += bytes;
      }
      return null;
    }

    private boolean add(Decoded decoded, int bytes, List<Item> items) {
      metrics.read(decoded);
      if (decoded.intact()) {
        items.add(new Item(decoded, bytes));
      }
      return decoded.intact();
    }
  }
}
