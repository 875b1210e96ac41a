package io.kvasir.events;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Event streams of engines that push their events, because the router cannot connect to them. The HTTP side hands
 * bodies to {@link #push}; a body holds batches as NDJSON (see {@code JsonDecoder}) or as msgpack, one after another.
 * Batches with a number make a sequenced stream. There is no replay: a body that finds the queue full is refused, and
 * the sender keeps it until it is accepted. Thread-safe.
 */
public final class PushEvents implements SharedTransport {
  /** Batches of a body that are known again if it is pushed once more: of a longer one none. */
  private static final int MAX_REPEATABLE = 4096;

  private final Map<String, PushSubscription> subscriptions = new ConcurrentHashMap<>();
  private final EventMetrics.SourceMetrics metrics;
  private volatile boolean closed;

  /** A receiver without subscriptions. */
  public PushEvents(EventMetrics metrics) {
    this.metrics = metrics.of("push");
  }

  /**
   * The source of a worker's events.
   *
   * @param key the key that a push has to carry, null for none
   */
  public EventSource source(String worker, @Nullable String key) {
    return new ResumableSource((queue, last) -> subscribe(worker, key, queue, last), metrics);
  }

  /** Whether a worker's pushed events are read here. */
  public boolean accepts(String worker) {
    return subscriptions.containsKey(worker);
  }

  /**
   * Takes a body, whole or not at all.
   *
   * @param key the key that the push carries, null for none
   * @param sequence number of the first batch of a msgpack body, those after it following;
   *     {@link KvBatch#UNSEQUENCED} for none. JSON batches name their own
   */
  public PushResult push(String worker, @Nullable String key, long sequence, byte[] body) {
    PushSubscription subscription = subscriptions.get(worker);
    if (subscription == null) {
      return new PushResult.NotSubscribed();
    }
    if (!subscription.authorizes(key)) {
      return new PushResult.Forbidden();
    }
    return subscription.push(sequence, body);
  }

  private Runnable subscribe(
      String worker, @Nullable String key, BatchQueue queue, @Nullable StreamPosition last) {
    PushSubscription subscription = new PushSubscription(key, queue, last);
    subscriptions.put(worker, subscription);
    if (closed) {
      queue.end(null);
    }
    return () -> {
      subscriptions.remove(worker, subscription);
      subscription.close();
    };
  }

  @Override
  public void close() {
    closed = true;
    subscriptions.values().forEach(subscription -> subscription.queue.end(null));
  }

  /**
   * A batch of a body.
   *
   * @param checksum of its bytes
   */
  private record Item(DecodedMessage decoded, int bytes, long checksum) {
    long sequence() {
      return decoded.batch().sequence();
    }
  }

  private final class PushSubscription {
    private final byte @Nullable [] key;
    private final BatchQueue queue;
    private final Inbox inbox;
    private final JsonDecoder json = new JsonDecoder();
    private final EventDecoder msgpack = new EventDecoder();

    /** The checksums of the last body's numbered batches, by number; none where these are more than are kept. */
    private Map<Long, Long> lastTaken = Map.of();

    PushSubscription(@Nullable String key, BatchQueue queue, @Nullable StreamPosition last) {
      this.key = key == null ? null : key.getBytes(UTF_8);
      this.queue = queue;
      this.inbox = new Inbox(queue, metrics, last);
    }

    boolean authorizes(@Nullable String offered) {
      return key == null || (offered != null && MessageDigest.isEqual(key, offered.getBytes(UTF_8)));
    }

    synchronized PushResult push(long sequence, byte[] body) {
      if (queue.full()) {
        metrics.refused();
        return new PushResult.Full();
      }
      List<Item> items = new ArrayList<>();
      PushResult.Malformed malformed =
          PayloadDecoder.isJson(body) ? lines(body, items) : batches(sequence, body, items);
      if (malformed != null) {
        return malformed;
      }
      inbox.connected(true);
      take(items);
      return new PushResult.Accepted(items.size(), inbox.next(), inbox.isComplete());
    }

    /**
     * Leaves out what the last body had: a sender that has had no answer repeats it. By its numbers alone it would look
     * like the beginning of another process where no batch has a time.
     */
    private void take(List<Item> items) {
      Map<Long, Long> taken = new HashMap<>();
      for (Item item : items) {
        Long before = lastTaken.get(item.sequence());
        if (before != null && before == item.checksum()) {
          metrics.duplicate();
        } else {
          inbox.message(item.decoded(), item.bytes());
        }
        if (item.sequence() != KvBatch.UNSEQUENCED) {
          taken.put(item.sequence(), item.checksum());
        }
      }
      lastTaken = taken.size() <= MAX_REPEATABLE ? taken : Map.of();
    }

    synchronized void close() {
      inbox.close();
    }

    private PushResult.@Nullable Malformed lines(byte[] body, List<Item> items) {
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
          DecodedMessage decoded = json.decode(KvBatch.UNSEQUENCED, body, from, end - from);
          if (!add(decoded, body, from, end - from, items)) {
            return new PushResult.Malformed(line, String.valueOf(decoded.detail()));
          }
        }
        from = end + 1;
      }
      return null;
    }

    private PushResult.@Nullable Malformed batches(long sequence, byte[] body, List<Item> items) {
      int from = 0;
      while (from < body.length) {
        long number = sequence == KvBatch.UNSEQUENCED ? sequence : sequence + items.size();
        DecodedMessage decoded = msgpack.decode(number, body, from);
        int bytes = msgpack.end() - from;
        if (!add(decoded, body, from, bytes, items)) {
          return new PushResult.Malformed(items.size() + 1, String.valueOf(decoded.detail()));
        }
        from += bytes;
      }
      return null;
    }

    private boolean add(DecodedMessage decoded, byte[] body, int from, int bytes, List<Item> items) {
      metrics.read(decoded);
      if (decoded.intact()) {
        CRC32C checksum = new CRC32C();
        checksum.update(body, from, bytes);
        items.add(new Item(decoded, bytes, checksum.getValue()));
      }
      return decoded.intact();
    }
  }
}
