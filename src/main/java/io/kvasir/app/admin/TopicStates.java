package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.watch.JsonMergePatch;
import io.kvasir.http.SseEvents;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** The states of topics, as the frames of a stream of {@code /admin/watch} tell them one by one. For one thread. */
final class TopicStates {
  private static final JsonMapper JSON = new JsonMapper();

  private final int topics;
  private final Map<String, ObjectNode> states = new HashMap<>();
  private final SseEvents events = new SseEvents(this::take);
  private boolean changed;

  /** Of so many topics. */
  TopicStates(int topics) {
    this.topics = topics;
  }

  /**
   * Reads the next bytes of the stream.
   *
   * @return whether there is something new, and every topic has a state
   * @throws IOException when they are no frames
   */
  boolean accept(byte[] bytes, int length) throws IOException {
    changed = false;
    events.accept(bytes, 0, length);
    return changed && states.size() == topics;
  }

  /** The state of each topic now; those of later are others. */
  Map<String, ObjectNode> states() {
    return Map.copyOf(states);
  }

  private void take(String topic, byte[] data) throws IOException {
    JsonNode frame = JSON.readTree(data);
    if (frame.path("full") instanceof ObjectNode full) {
      states.put(topic, full);
    } else if (frame.path("patch") instanceof ObjectNode patch) {
      ObjectNode before = states.getOrDefault(topic, JsonNodeFactory.instance.objectNode());
      states.put(topic, JsonMergePatch.patched(before, patch));
    } else {
      throw new IOException("a frame of " + topic + " is neither whole nor a patch");
    }
    changed = true;
  }
}
