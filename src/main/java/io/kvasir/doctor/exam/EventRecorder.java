package io.kvasir.doctor.exam;

import io.kvasir.events.DecodedMessage;
import io.kvasir.events.KvEvent;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Takes note of messages as they come, and hands their events on. Thread-safe. */
final class EventRecorder {
  private static final int MAX_TOPICS = 16;

  private final Consumer<KvEvent> onEvent;
  private final Set<String> topics = new HashSet<>();
  private final Set<Integer> blockSizes = new HashSet<>();
  private int messages;
  private int faulty;
  private @Nullable String fault;
  private @Nullable Long clockAheadMillis;

  /** A recorder; {@code onEvent} is called by the thread that records. */
  EventRecorder(Consumer<KvEvent> onEvent) {
    this.onEvent = onEvent;
  }

  EventsSeen seen() {
    synchronized (this) {
      return new EventsSeen(messages, topics, faulty, fault, clockAheadMillis, blockSizes);
    }
  }

  /** Records a message that is none. */
  synchronized void misframed(String why) {
    messages++;
    faulty++;
    fault = fault == null ? why : fault;
  }

  /**
   * Records a message.
   *
   * @param topic under which it came, null where there are no topics
   */
  void record(@Nullable String topic, DecodedMessage message) {
    count(topic, message);
    message.batch().events().forEach(onEvent);
  }

  private synchronized void count(@Nullable String topic, DecodedMessage message) {
    messages++;
    if (topic != null && topics.size() < MAX_TOPICS) {
      topics.add(topic);
    }
    if (!message.intact()) {
      faulty++;
      fault = fault == null ? message.detail() : fault;
    }
    if (message.batch().publishedAt() > 0) {
      clockAheadMillis = message.batch().publishedAt() / 1000 - System.currentTimeMillis();
    }
    for (KvEvent event : message.batch().events()) {
      if (event instanceof KvEvent.Stored stored && stored.blockSize() > 0) {
        blockSizes.add(stored.blockSize());
      }
    }
  }
}
