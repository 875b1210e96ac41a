package io.kvasir.kubernetes.inference;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.kubernetes.ObjectKey;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** The event by which {@code kubectl describe} shows what is wrong with an object. */
final class WarningEvent {
  /** The API takes no more. */
  private static final int MAX_MESSAGE = 1024;

  private WarningEvent() {}

  /** An event of the core group about a condition of an object. */
  static ObjectNode of(String kind, JsonNode object, Condition condition, Instant now) {
    ObjectKey key = ObjectKey.of(object);
    String time = now.truncatedTo(ChronoUnit.SECONDS).toString();
    String message = condition.message();
    ObjectNode event = JsonNodeFactory.instance.objectNode();
    event.put("apiVersion", "v1").put("kind", "Event").put("type", "Warning");
    event.putObject("metadata").put("generateName", "kvasir-").put("namespace", key.namespace());
    event.put("reason", condition.reason())
        .put("message", message.length() > MAX_MESSAGE ? message.substring(0, MAX_MESSAGE) : message)
        .put("firstTimestamp", time)
        .put("lastTimestamp", time)
        .put("count", 1);
    event.putObject("source").put("component", "kvasir");
    event.putObject("involvedObject")
        .put("apiVersion", object.path("apiVersion").asText())
        .put("kind", kind)
        .put("namespace", key.namespace())
        .put("name", key.name())
        .set("uid", object.at("/metadata/uid"));
    return event;
  }
}
