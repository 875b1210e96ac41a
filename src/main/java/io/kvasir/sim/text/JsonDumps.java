package io.kvasir.sim.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;

/** JSON as Python's {@code json.dumps} writes it, and with it chat templates and models. */
final class JsonDumps {
  private JsonDumps() {}

  static String write(JsonNode value, boolean spaced) {
    StringBuilder out = new StringBuilder();
    write(value, spaced ? ", " : ",", spaced ? ": " : ":", out);
    return out.toString();
  }

  private static void write(JsonNode value, String comma, String colon, StringBuilder out) {
    switch (value) {
      case ObjectNode object -> {
        out.append('{');
        String before = "";
        for (Map.Entry<String, JsonNode> member : object.properties()) {
          out.append(before).append(object.textNode(member.getKey())).append(colon);
          write(member.getValue(), comma, colon, out);
          before = comma;
        }
        out.append('}');
      }
      case ArrayNode array -> {
        out.append('[');
        String before = "";
        for (JsonNode item : array) {
          out.append(before);
          write(item, comma, colon, out);
          before = comma;
        }
        out.append(']');
      }
      default -> out.append(value);
    }
  }
}
