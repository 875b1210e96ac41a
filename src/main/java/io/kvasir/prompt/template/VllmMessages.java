package io.kvasir.prompt.template;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The preparation of messages and tools for a template, as vLLM's API server does it.
 *
 * <p>A message keeps its role, content, name, an assistant's tool calls and reasoning, and a tool's call id; nothing
 * else. Content becomes one text, or a list of parts ({@link ContentFormat}); missing content is empty. The arguments
 * of a tool call become an object. Tool calls and tools have the field order of the server's own types, which shows
 * where a template prints them as JSON: {@code arguments} before {@code name} in a call; {@code name},
 * {@code description}, {@code parameters}, then the rest in a tool, with null for what is missing.
 *
 * <p>Source: vLLM {@code renderers/chat_utils} (formerly {@code entrypoints/chat_utils.py}) and
 * {@code entrypoints/openai/chat_completion/protocol.py}; the types of the OpenAI Python library.
 */
final class VllmMessages {
  /** Start of a system text's first line that some clients send and that differs in every request. */
  private static final String BILLING_HEADER = "x-anthropic-billing-header";
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private VllmMessages() {}


  static List<Map<String, @Nullable Object>> prepare(JsonNode messages, ContentFormat format) {
    List<Map<String, @Nullable Object>> prepared = new ArrayList<>(messages.size());
    for (JsonNode message : messages) {
      prepared.add(message(message, format));
    }
    return prepared;
  }

  /** About how many characters the texts of the messages have, with the markup around them. */
  static long textLength(JsonNode messages) {
    long length = 0;
    for (JsonNode message : messages) {
      JsonNode content = message.path("content");
      length += 64 + length(content);
      for (JsonNode part : content) {
        length += 64 + length(part.isTextual() ? part : part.path("text"));
      }
    }
    return length;
  }

  private static int length(JsonNode text) {
    return text.isTextual() ? text.textValue().length() : 0;
  }

  private static String role(JsonNode message) {
    JsonNode role = message.path("role");
    if (!role.isTextual()) {
      throw new TemplateException.Request("messages must be objects, each with a role");
    }
    return role.textValue();
  }

  private static Map<String, @Nullable Object> message(JsonNode message, ContentFormat format) {
    String role = role(message);
    Map<String, @Nullable Object> out = new LinkedHashMap<>();
    out.put("role", role);
    out.put("content", content(message.path("content"), role, format));
    if (role.equals("assistant")) {
      JsonNode calls = message.path("tool_calls");
      if (calls.isArray() && !calls.isEmpty()) {
        out.put("tool_calls", toolCalls(calls));
      }
      JsonNode reasoning = message.path("reasoning").isTextual() ? message.path("reasoning")
          : message.path("reasoning_content");
      if (reasoning.isTextual()) {
        out.put("reasoning", reasoning.textValue());
        out.put("reasoning_content", reasoning.textValue());
      }
    } else if (role.equals("tool") && message.has("tool_call_id")) {
      out.put("tool_call_id", JsonValues.of(message.get("tool_call_id")));
    }
    if (message.path("name").isTextual()) {
      out.put("name", message.path("name").textValue());
    }
    if (role.equals("developer") && message.path("tools").isArray()) {
      out.put("tools", JsonValues.of(message.get("tools")));
    }
    return out;
  }

  private static Object content(JsonNode content, String role, ContentFormat format) {
    if (content.isTextual() && format == ContentFormat.STRING) {
      return role.equals("system") ? withoutBilling(content.textValue()) : content.textValue();
    }
    List<@Nullable Object> parts = new ArrayList<>();
    boolean onlyText = true;
    if (content.isTextual() || content.isArray()) {
      for (JsonNode part : content.isTextual() ? List.of(content) : content) {
        Map<String, @Nullable Object> kept = part(part, role);
        if (kept != null) {
          onlyText &= kept.containsKey("text");
          parts.add(kept);
        }
      }
    } else if (!content.isNull() && !content.isMissingNode()) {
      throw new TemplateException.Request("the content of a message must be a text or a list of parts");
    }
    boolean joined = format == ContentFormat.STRING || (role.equals("tool") && onlyText);
    return joined ? join(parts, format == ContentFormat.STRING) : parts;
  }

  private static @Nullable Map<String, @Nullable Object> text(String text, String role) {
    String kept = role.equals("system") ? withoutBilling(text) : text;
    if (kept.isEmpty() && !text.isEmpty()) {
      return null;
    }
    Map<String, @Nullable Object> part = new LinkedHashMap<>();
    part.put("type", "text");
    part.put("text", kept);
    return part;
  }

  private static String withoutBilling(String text) {
    if (!text.startsWith(BILLING_HEADER)) {
      return text;
    }
    int end = text.indexOf('\n');
    return end < 0 ? "" : text.substring(end + 1);
  }

  /** A content part for the template; null if it is left out. */
  private static @Nullable Map<String, @Nullable Object> part(JsonNode part, String role) {
    if (part.isTextual()) {
      return text(part.textValue(), role);
    }
    String type = type(part);
    String field = switch (type) {
      case "text", "input_text", "output_text" -> "text";
      case "refusal", "thinking" -> type;
      default -> "";
    };
    if (!field.isEmpty()) {
      JsonNode text = part.path(field);
      return text.isTextual() ? text(text.textValue(), role) : null;
    }
    Map<String, @Nullable Object> media = new LinkedHashMap<>();
    media.put("type", type.startsWith("image") || type.equals("input_image") ? "image"
        : type.startsWith("audio") || type.equals("input_audio") ? "audio"
        : type.startsWith("video") ? "video" : type);
    if (type.equals("tool_reference")) {
      media.put("name", JsonValues.of(part.get("name")));
    }
    return media;
  }

  private static String type(JsonNode part) {
    if (part.path("type").isTextual()) {
      return part.path("type").textValue();
    }
    for (String field : List.of("image_url", "audio_url", "video_url", "input_audio")) {
      if (part.has(field)) {
        return field;
      }
    }
    throw new TemplateException.Request("a part of a message's content has no type");
  }

  /** The parts' texts with newlines between; media have no text here. */
  private static String join(List<@Nullable Object> parts, boolean skipEmpty) {
    StringBuilder out = new StringBuilder();
    boolean first = true;
    for (Object part : parts) {
      if (part instanceof Map<?, ?> map && map.get("text") instanceof String text
          && !(skipEmpty && text.isEmpty())) {
        out.append(first ? "" : "\n").append(text);
        first = false;
      }
    }
    return out.toString();
  }

  private static List<@Nullable Object> toolCalls(JsonNode calls) {
    List<@Nullable Object> prepared = new ArrayList<>(calls.size());
    for (JsonNode call : calls) {
      JsonNode function = call.path("function");
      if (!function.isObject()) {
        throw new TemplateException.Request("an assistant's tool_calls must be of type function");
      }
      Map<String, @Nullable Object> out = new LinkedHashMap<>();
      copy(call, "id", out);
      Map<String, @Nullable Object> called = new LinkedHashMap<>();
      called.put("arguments", arguments(function.path("arguments")));
      copy(function, "name", called);
      out.put("function", called);
      copy(call, "type", out);
      prepared.add(out);
    }
    return prepared;
  }

  private static void copy(JsonNode from, String field, Map<String, @Nullable Object> to) {
    if (from.has(field)) {
      to.put(field, JsonValues.of(from.get(field)));
    }
  }

  /** An object: as given, or read from the text that the API takes; anything else counts as empty. */
  private static Map<String, @Nullable Object> arguments(JsonNode arguments) {
    if (!arguments.isTextual()) {
      return JsonValues.map(arguments);
    }
    try {
      return JsonValues.map(MAPPER.readTree(arguments.textValue()));
    } catch (JsonProcessingException e) {
      // Part of a conversation's past: the engine goes on without it, and so do we.
      return new LinkedHashMap<>();
    }
  }

  static List<@Nullable Object> tools(JsonNode tools) {
    List<@Nullable Object> prepared = new ArrayList<>(tools.size());
    for (JsonNode tool : tools) {
      Map<String, @Nullable Object> function = new LinkedHashMap<>();
      for (String field : List.of("name", "description", "parameters")) {
        function.put(field, JsonValues.of(tool.path("function").get(field)));
      }
      for (Map.Entry<String, JsonNode> field : tool.path("function").properties()) {
        if (!function.containsKey(field.getKey())) {
          function.put(field.getKey(), JsonValues.of(field.getValue()));
        }
      }
      Map<String, @Nullable Object> out = new LinkedHashMap<>();
      out.put("type", tool.path("type").asText("function"));
      out.put("function", function);
      prepared.add(out);
    }
    return prepared;
  }

  static boolean hasMedia(JsonNode messages) {
    for (JsonNode message : messages) {
      for (JsonNode part : message.path("content")) {
        String type = part.path("type").asText("");
        if (part.isObject() && !(type.contains("text") || type.equals("refusal") || type.equals("thinking")
            || type.equals("tool_reference"))) {
          return true;
        }
      }
    }
    return false;
  }
}
