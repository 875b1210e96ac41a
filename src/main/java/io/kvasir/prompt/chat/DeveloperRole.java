package io.kvasir.prompt.chat;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The role {@code developer} for templates that do not know it: such messages become system messages, and all system
 * messages one at the beginning.
 */
final class DeveloperRole {
  private DeveloperRole() {}

  static List<Map<String, @Nullable Object>> asSystem(List<Map<String, @Nullable Object>> messages) {
    boolean any = false;
    for (Map<String, @Nullable Object> message : messages) {
      if ("developer".equals(message.get("role"))) {
        any = true;
        message.put("role", "system");
        message.remove("tools");
      }
    }
    return any ? merged(messages) : messages;
  }

  private static List<Map<String, @Nullable Object>> merged(List<Map<String, @Nullable Object>> messages) {
    List<String> texts = new ArrayList<>();
    List<Map<String, @Nullable Object>> others = new ArrayList<>();
    boolean scattered = false;
    for (int i = 0; i < messages.size(); i++) {
      Map<String, @Nullable Object> message = messages.get(i);
      if (!"system".equals(message.get("role"))) {
        others.add(message);
        continue;
      }
      scattered |= i > 0;
      String text = text(message.get("content"));
      if (!text.isEmpty()) {
        texts.add(text);
      }
    }
    if (!scattered) {
      return messages;
    }
    Map<String, @Nullable Object> system = new LinkedHashMap<>();
    system.put("role", "system");
    system.put("content", String.join("\n\n", texts));
    others.addFirst(system);
    return others;
  }

  private static String text(@Nullable Object content) {
    if (!(content instanceof List<?> parts)) {
      return content instanceof String text ? text : "";
    }
    List<String> texts = new ArrayList<>();
    for (Object part : parts) {
      if (part instanceof Map<?, ?> map && map.get("text") instanceof String text) {
        texts.add(text);
      }
    }
    return String.join("\n", texts);
  }
}
