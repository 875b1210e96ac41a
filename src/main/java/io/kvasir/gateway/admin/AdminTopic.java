package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Something that can be watched as it changes. Lists whose members have keys are objects by key there, so that a change
 * of one member is told alone; null members are left out, since in a merge patch (RFC 7396) null says that one has
 * gone.
 *
 * @param name as it is asked for
 * @param keys the lists in it, at any depth, and the members that tell the entries of each apart
 * @param state reads it, each time anew but for parts that are as they were last time; may wait
 */
public record AdminTopic(String name, Map<String, List<String>> keys, Supplier<ObjectNode> state) {
  /** Its state now, in the form that is watched. */
  public ObjectNode read() {
    return keyed(state.get());
  }

  /** Brings an object into the form that is watched: nobody else has it, so it is changed, once, and not copied. */
  private ObjectNode keyed(ObjectNode object) {
    Iterator<Map.Entry<String, JsonNode>> members = object.properties().iterator();
    while (members.hasNext()) {
      Map.Entry<String, JsonNode> member = members.next();
      JsonNode value = member.getValue();
      if (value.isNull()) {
        members.remove();
      } else if (value instanceof ObjectNode inner) {
        keyed(inner);
      } else if (value instanceof ArrayNode list) {
        List<String> key = keys.get(member.getKey());
        if (key != null) {
          member.setValue(byKey(list, key));
        }
      }
    }
    return object;
  }

  private ObjectNode byKey(ArrayNode list, List<String> key) {
    ObjectNode entries = JsonNodeFactory.instance.objectNode();
    list.forEach(entry -> entries.set(key(entry, key), keyed((ObjectNode) entry)));
    return entries;
  }

  private static String key(JsonNode entry, List<String> members) {
    String first = entry.path(members.getFirst()).asText();
    return members.size() == 1 ? first
        : members.stream().map(member -> entry.path(member).asText()).collect(Collectors.joining(" "));
  }
}
