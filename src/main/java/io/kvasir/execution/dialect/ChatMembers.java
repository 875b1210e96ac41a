package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;

/**
 * What a chat completion has of a conversation.
 *
 * @param members messages, tools, what its template is given
 */
record ChatMembers(ObjectNode members) {
  boolean has(String name) {
    return members.has(name);
  }

  /** A chat completion's other members with these. */
  JsonMembers in(JsonMembers chat) {
    JsonMembers whole = chat;
    for (Map.Entry<String, JsonNode> member : members.properties()) {
      JsonNode value = member.getKey().equals("messages") ? withThoughts(member.getValue()) : member.getValue();
      whole = whole.with(member.getKey(), value.toString());
    }
    return whole;
  }

  /** A choice of a function that has to be called, in JSON. */
  static String choiceOf(JsonNode name) {
    return "{\"type\":\"function\",\"function\":{\"name\":" + name + "}}";
  }

  /** Thoughts by both of their names, of which engines know one or the other. */
  private static JsonNode withThoughts(JsonNode messages) {
    for (JsonNode message : messages) {
      if (message.has("reasoning") && message instanceof ObjectNode turn) {
        turn.set("reasoning_content", turn.get("reasoning"));
      }
    }
    return messages;
  }
}
