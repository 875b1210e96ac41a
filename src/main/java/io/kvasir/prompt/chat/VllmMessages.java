package io.kvasir.prompt.chat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.JsonValues;
import io.kvasir.prompt.template.TemplateException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The preparation of messages and tools for a template, as vLLM's API server does it.
 *
 * <p>A message keeps its role, content, name, task, an assistant's tool calls and reasoning, a tool's call id, and a
 * developer's tools; nothing else. Content becomes one text, or a list of parts ({@link ContentFormat}); missing
 * content is empty. The arguments of a tool call become an object. Parts and tool calls have the field order of the
 * server's own types, which shows where a template prints them as JSON, {@code arguments} before {@code name} in a
 * call; fields that the API does not have follow. Versions differ ({@link VllmRule}); {@link VllmTools} has the tools.
 *
 * <p>Source: vLLM {@code renderers/chat_utils} (a file until 0.32, formerly {@code entrypoints/chat_utils.py}), {@code
 * renderers/hf.py} and {@code entrypoints/openai/chat_completion/protocol.py}; the types of the OpenAI
 * Python library.
 */
final class VllmMessages {
  /** Start of a system text's first line that some clients send and that differs in every request. */
  private static final String BILLING_HEADER = "x-anthropic-billing-header";
  /** The fields of all kinds of parts. */
  private static final Set<String> PART_FIELDS = Set.of("audio_embeds", "audio_url", "closed", "data", "file",
      "image_embeds", "image_pil", "image_url", "input_audio", "name", "prompt_cache_breakpoint", "refusal", "text",
      "thinking", "type", "uuid", "video_embeds", "video_url");
  private static final Set<String> CALL_FIELDS = Set.of("id", "function", "type");
  private static final Set<String> CALLED_FIELDS = Set.of("arguments", "name");

  private final VllmVersion version;
  private final ContentFormat format;

  private VllmMessages(VllmVersion version, ContentFormat format) {
    this.version = version;
    this.format = format;
  }

  /** The messages as an engine of this version gives them to the template. */
  static List<Map<String, @Nullable Object>> prepare(JsonNode messages, ChatTemplate template, VllmVersion version) {
    VllmMessages rules = new VllmMessages(version, ContentFormat.of(template, version));
    List<Map<String, @Nullable Object>> prepared = new ArrayList<>(messages.size());
    for (JsonNode message : messages) {
      prepared.add(rules.message(message));
    }
    return VllmRule.DEVELOPER_AS_SYSTEM.holds(version) && !template.knowsDevelopers()
        ? DeveloperRole.asSystem(prepared) : prepared;
  }

  /** About how many characters a request has for its template, with the markup around them. */
  static long textLength(JsonNode body) {
    return length(body.path("messages")) + length(body.path("tools")) + length(body.path("documents"))
        + length(body.path("chat_template_kwargs"));
  }

  private static long length(JsonNode node) {
    if (node.isTextual()) {
      return node.textValue().length();
    }
    long length = 64;
    for (JsonNode element : node) {
      length += length(element);
    }
    return length;
  }

  private static String role(JsonNode message) {
    JsonNode role = message.path("role");
    if (!role.isTextual()) {
      throw new TemplateException.Request("messages must be objects, each with a role");
    }
    return role.textValue();
  }

  private Map<String, @Nullable Object> message(JsonNode message) {
    String role = role(message);
    Map<String, @Nullable Object> out = new LinkedHashMap<>();
    out.put("role", role);
    out.put("content", content(message.path("content"), role));
    if (role.equals("assistant")) {
      JsonNode calls = message.path("tool_calls");
      if (calls.isArray() && !calls.isEmpty()) {
        out.put("tool_calls", toolCalls(calls));
      }
      String reasoning = VllmReasoning.of(message, version);
      if (reasoning != null) {
        out.put("reasoning", reasoning);
        out.put("reasoning_content", reasoning);
      }
    } else if (role.equals("tool") && message.has("tool_call_id")) {
      out.put("tool_call_id", JsonValues.of(message.get("tool_call_id")));
    }
    if (message.path("name").isTextual()) {
      out.put("name", message.path("name").textValue());
    }
    if (message.path("task").isTextual() && VllmRule.TASK.holds(version)) {
      out.put("task", message.path("task").textValue());
    }
    if (role.equals("developer")) {
      out.put("tools", VllmTools.ofDeveloper(message.path("tools")));
    }
    return out;
  }

  private Object content(JsonNode content, String role) {
    if (content.isTextual() && format == ContentFormat.STRING) {
      return textOf(content.textValue(), role);
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
    boolean joined = format == ContentFormat.STRING
        || (role.equals("tool") && VllmRule.TOOL_TEXT.holds(version)
            && (onlyText || !VllmRule.TOOL_PARTS.holds(version)));
    return joined ? join(parts, format == ContentFormat.STRING) : parts;
  }

  private String textOf(String text, String role) {
    return role.equals("system") && VllmRule.BILLING_HEADER.holds(version) ? withoutBilling(text) : text;
  }

  private @Nullable Map<String, @Nullable Object> text(String text, String role) {
    String kept = textOf(text, role);
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
  private @Nullable Map<String, @Nullable Object> part(JsonNode part, String role) {
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
      Map<String, @Nullable Object> kept = text.isTextual() ? text(text.textValue(), role) : null;
      if (kept != null && VllmRule.PART_FIELDS.holds(version)) {
        more(part, PART_FIELDS, kept);
      }
      return kept;
    }
    if (type.equals("tool_reference") && format == ContentFormat.STRING) {
      return text(part.path("name").asText(), role);
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

  private List<@Nullable Object> toolCalls(JsonNode calls) {
    List<@Nullable Object> prepared = new ArrayList<>(calls.size());
    for (JsonNode call : calls) {
      JsonNode function = call.path("function");
      if (!function.isObject()) {
        throw new TemplateException.Request("an assistant's tool_calls must be of type function");
      }
      Map<String, @Nullable Object> out = new LinkedHashMap<>();
      copy(call, "id", out);
      out.put("function", called(function));
      copy(call, "type", out);
      more(call, CALL_FIELDS, out);
      prepared.add(out);
    }
    return prepared;
  }

  private Map<String, @Nullable Object> called(JsonNode function) {
    Map<String, @Nullable Object> called = new LinkedHashMap<>();
    if (function.has("type")) {
      // Of /v1/responses, which the server's types do not put into their order.
      copy(function, "name", called);
      called.put("arguments", arguments(function.path("arguments")));
    } else {
      called.put("arguments", arguments(function.path("arguments")));
      copy(function, "name", called);
      more(function, CALLED_FIELDS, called);
    }
    return called;
  }

  /** Copies the fields that the API does not have. */
  private static void more(JsonNode from, Set<String> known, Map<String, @Nullable Object> to) {
    if (from.size() > to.size()) {
      for (Map.Entry<String, JsonNode> field : from.properties()) {
        if (!known.contains(field.getKey())) {
          to.put(field.getKey(), JsonValues.of(field.getValue()));
        }
      }
    }
  }

  private static void copy(JsonNode from, String field, Map<String, @Nullable Object> to) {
    if (from.has(field)) {
      to.put(field, JsonValues.of(from.get(field)));
    }
  }

  /** As given, or read from the text that the API takes; an object, but for old engines. */
  private @Nullable Object arguments(JsonNode given) {
    JsonNode arguments = given;
    if (given.isTextual()) {
      try {
        arguments = PythonJson.read(given.textValue());
      } catch (JsonProcessingException e) {
        if (!VllmRule.OBJECT_ARGUMENTS.holds(version)) {
          throw new TemplateException.Request("the arguments of a tool call must be JSON");
        }
        // Part of a conversation's past: the engine goes on without it, and so do we.
        return new LinkedHashMap<>();
      }
    }
    return arguments.isObject() || (isKept(arguments) && !given.isNull())
        ? JsonValues.of(arguments) : new LinkedHashMap<>();
  }

  /** Whether arguments that are no object stay as they are. */
  private boolean isKept(JsonNode arguments) {
    return !VllmRule.OBJECT_ARGUMENTS.holds(version) && !arguments.isMissingNode()
        && (!arguments.isNull() || !VllmRule.NULL_ARGUMENTS.holds(version));
  }
}
