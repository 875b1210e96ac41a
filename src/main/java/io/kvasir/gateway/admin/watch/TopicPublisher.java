package io.kvasir.gateway.admin.watch;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.AdminTopic;
import io.kvasir.time.Timer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The publisher of topics: once a second it reads each that anyone watches, and gives all its watchers the same frame
 * of what has changed; a new watcher gets the whole first. While nobody watches it does nothing. Thread-safe.
 */
public final class TopicPublisher implements AutoCloseable {
  /** Clients at a time. */
  static final int MAX_WATCHERS = 32;

  /** What keeps a stream alive on which there is nothing new. */
  static final byte[] KEEP_ALIVE = ":\n\n".getBytes(StandardCharsets.UTF_8);

  private static final Logger LOG = LoggerFactory.getLogger(TopicPublisher.class);
  private static final long PERIOD = TimeUnit.SECONDS.toNanos(1);

  private final Map<String, AdminTopic> topics;
  private final Timer timer;
  private final Executor executor;

  /** The last state of each topic that is watched; of the publishing thread. */
  private final Map<AdminTopic, ObjectNode> states = new HashMap<>();

  /** Guarded by this, as what follows. */
  private final Set<Watcher> watchers = new HashSet<>();
  private boolean publishing;
  private boolean closed;

  /**
   * A publisher without watchers.
   *
   * @param executor where topics are read, which may wait
   */
  public TopicPublisher(List<AdminTopic> topics, Timer timer, Executor executor) {
    this.topics = topics.stream().collect(Collectors.toUnmodifiableMap(AdminTopic::name, Function.identity()));
    this.timer = timer;
    this.executor = executor;
  }

  /** The names of the topics there are. */
  Set<String> names() {
    return new TreeSet<>(topics.keySet());
  }

  /** Whether another watcher would be taken. */
  synchronized boolean hasRoom() {
    return !closed && watchers.size() < MAX_WATCHERS;
  }

  /** Adds a watcher of topics that there are, until it {@linkplain #leave leaves}; null when there is no room. */
  synchronized @Nullable Watcher join(Set<String> names) {
    if (!hasRoom()) {
      return null;
    }
    Watcher watcher = new Watcher(names.stream().flatMap(name -> Stream.ofNullable(topics.get(name))).toList());
    watchers.add(watcher);
    if (!publishing) {
      publishing = true;
      executor.execute(this::publish);
    }
    return watcher;
  }

  synchronized void leave(Watcher watcher) {
    watchers.remove(watcher);
  }

  /** Ends every stream; there are no new ones. */
  @Override
  public synchronized void close() {
    closed = true;
    watchers.forEach(Watcher::end);
    watchers.clear();
  }

  /** One round. The next is a second later, unless nobody watches any more. */
  private void publish() {
    List<Watcher> present = present();
    if (present.isEmpty()) {
      return;
    }
    Map<AdminTopic, Frames> frames = new HashMap<>();
    for (Watcher watcher : present) {
      List<byte[]> round = new ArrayList<>();
      for (AdminTopic topic : watcher.topics()) {
        byte[] frame = frames.computeIfAbsent(topic, this::read).of(watcher);
        if (frame != null) {
          round.add(frame);
        }
      }
      if (!watcher.add(round.isEmpty() ? List.of(KEEP_ALIVE) : round)) {
        leave(watcher);
      }
    }
    timer.schedule(PERIOD, () -> executor.execute(this::publish));
  }

  private synchronized List<Watcher> present() {
    if (watchers.isEmpty()) {
      publishing = false;
      states.clear();
    } else {
      states.keySet().retainAll(
          watchers.stream().flatMap(watcher -> watcher.topics().stream()).collect(Collectors.toSet()));
    }
    return List.copyOf(watchers);
  }

  /** What a round has of a topic. One that cannot be read now is told as it was. */
  private Frames read(AdminTopic topic) {
    ObjectNode before = states.get(topic);
    ObjectNode now;
    try {
      now = topic.read();
    } catch (RuntimeException unreadable) {
      LOG.warn("{} cannot be watched now: {}", topic.name(), unreadable.toString());
      return new Frames(topic, before, null);
    }
    states.put(topic, now);
    return new Frames(topic, now, before == null ? null : JsonMergePatch.between(before, now));
  }

  /** A topic's frames in one round, each written once for all that get it. For one thread. */
  private static final class Frames {
    private static final JsonMapper JSON = new JsonMapper();
    private static final byte[] FRAME_END = "}\n\n".getBytes(StandardCharsets.UTF_8);

    private final AdminTopic topic;
    private final @Nullable ObjectNode state;
    private final byte @Nullable [] patch;
    private byte @Nullable [] full;

    Frames(AdminTopic topic, @Nullable ObjectNode state, @Nullable ObjectNode patch) {
      this.topic = topic;
      this.state = state;
      this.patch = patch == null ? null : frame("patch", patch);
    }

    byte @Nullable [] of(Watcher watcher) {
      if (state == null || !watcher.begins(topic)) {
        return patch;
      }
      full = full == null ? frame("full", state) : full;
      return full;
    }

    private byte[] frame(String kind, ObjectNode content) {
      ByteArrayOutputStream frame = new ByteArrayOutputStream();
      try {
        frame.writeBytes("event: %s\ndata: {\"%s\":".formatted(topic.name(), kind).getBytes(StandardCharsets.UTF_8));
        JSON.writeValue(frame, content);
        frame.writeBytes(FRAME_END);
      } catch (IOException impossible) {
        throw new UncheckedIOException(impossible);
      }
      return frame.toByteArray();
    }
  }
}
