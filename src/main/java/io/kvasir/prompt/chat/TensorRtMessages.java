package io.kvasir.prompt.chat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.JsonValues;
import io.kvasir.prompt.template.TemplateException.Request;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The preparation of messages for a template, as TensorRT-LLM's server does it.
 *
 * <p>A message keeps its role, its texts with newlines between, an empty list of media, of an assistant its thoughts
 * and tool calls, and of a tool the call's id; nothing else. The arguments of a call become an object. The order of a
 * call's fields, which shows where a template prints them as JSON, is that of the API's types where the message has no
 * fields but theirs, and another one where it has.
 *
 * <p>Source: TensorRT-LLM {@code serve/chat_utils.py} and {@code openai_protocol.py}; the types of the OpenAI Python
 * library.
 */
public final class TensorRtMessages {
  private static final String CALLS = "tool_calls";

  private static final Set<String> ASSISTANT_FIELDS =
      Set.of("role", "content", "name", "refusal", "audio", "function_call", CALLS, "reasoning", "reasoning_content");
  private static final Set<String> MEDIA =
      Set.of("image_url", "video_url", "audio_url", "input_audio", "image_embeds");

  private final TensorRtVersion version;
  /** Whether the calls of some typed message are not of its type: no calls of the request are then ordered by it. */
  private final boolean mistyped;
  private final boolean mediaParts;

  private TensorRtMessages(TensorRtVersion version, boolean mistyped, boolean mediaParts) {
    this.version = version;
    this.mistyped = mistyped;
    this.mediaParts = mediaParts;
  }

  /** The messages as an engine of this version gives them to the template. */
  static List<Map<String, @Nullable Object>> prepare(
      JsonNode messages, ChatTemplate template, TensorRtVersion version) {
    boolean mistyped = false;
    for (JsonNode message : messages) {
      mistyped |= isTyped(message, version) && !hasTypedCalls(message);
    }
    TensorRtMessages rules = new TensorRtMessages(
        version, mistyped, ContentFormat.of(template, version) == ContentFormat.OPENAI);
    List<Map<String, @Nullable Object>> prepared = new ArrayList<>(messages.size());
    for (JsonNode message : messages) {
      prepared.add(rules.message(message));
    }
    return prepared;
  }

  /**
   * Whether the server takes a message of the assistant's for the API's own type: its content is no list of parts, and
   * it has no fields but that type's. The calls of such a message are checked when they are read, which they are once
   * only.
   */
  public static boolean isTyped(JsonNode message, TensorRtVersion version) {
    if (!message.path("role").asText().equals("assistant") || hasParts(message)) {
      return false;
    }
    // The type with thoughts demands them in both of their fields, and before they were kept it had one.
    boolean hasThoughts = message.has("reasoning_content");
    return hasThoughts == (TensorRtRule.THOUGHTS.holds(version) && message.has("reasoning"))
        && hasOnly(message, ASSISTANT_FIELDS);
  }

  private static boolean hasParts(JsonNode message) {
    return message.path("content").isArray() && !message.path("content").isEmpty();
  }

  private static boolean hasTypedCalls(JsonNode message) {
    for (JsonNode call : message.path(CALLS)) {
      JsonNode function = call.path("function");
      boolean typed = call.size() == 3 && call.path("id").isTextual() && call.has("type")
          && function.size() == 2 && function.path("name").isTextual() && function.path("arguments").isTextual();
      if (!typed) {
        return false;
      }
    }
    return true;
  }

  private static boolean hasOnly(JsonNode object, Set<String> fields) {
    for (Iterator<String> names = object.fieldNames(); names.hasNext();) {
      if (!fields.contains(names.next())) {
        return false;
      }
    }
    return true;
  }

  private Map<String, @Nullable Object> message(JsonNode message) {
    String role = message.path("role").textValue();
    if (role == null) {
      throw new Request("messages must be objects, each with a role");
    }
    Map<String, @Nullable Object> out = new LinkedHashMap<>();
    out.put("role", role);
    out.put("content", content(message.path("content")));
    out.put("media", List.of());
    switch (role) {
      case "assistant" -> {
        if (TensorRtRule.THOUGHTS.holds(version)) {
          JsonNode thoughts =
              message.hasNonNull("reasoning") ? message.get("reasoning") : message.path("reasoning_content");
          if (!thoughts.isNull() && !thoughts.isMissingNode()) {
            out.put("reasoning_content", JsonValues.of(thoughts));
          }
        }
        if (message.path(CALLS).isArray()) {
          out.put(CALLS, calls(message.path(CALLS), !mistyped && isTyped(message, version)));
        }
      }
      case "tool" -> {
        if (message.has("tool_call_id")) {
          out.put("tool_call_id", JsonValues.of(message.get("tool_call_id")));
        }
      }
      case "system" -> {
        if (message.hasNonNull("tools") && TensorRtRule.SYSTEM_TOOLS.holds(version)) {
          out.put("tools", JsonValues.of(message.get("tools")));
        }
      }
      default -> { }
    }
    return out;
  }

  private Object content(JsonNode content) {
    if (!content.isArray()) {
      return content.asText("");
    }
    StringBuilder text = new StringBuilder();
    List<Map<String, String>> parts = new ArrayList<>();
    boolean media = false;
    for (JsonNode part : content) {
      String type = part.isTextual() ? "text" : part.path("type").asText();
      if (MEDIA.contains(type)) {
        media = true;
        parts.add(Map.of("type", type.startsWith("image") ? "image" : type.startsWith("video") ? "video" : "audio"));
        continue;
      }
      String its = part.isTextual() ? part.textValue() : part.path("text").asText("");
      if (type.equals("text") && !its.isEmpty()) {
        text.append(text.isEmpty() ? "" : "\n").append(its);
        Map<String, String> kept = new LinkedHashMap<>();
        kept.put("type", "text");
        kept.put("text", its);
        parts.add(kept);
      }
    }
    return media && mediaParts ? parts : text.toString();
  }

  private List<@Nullable Object> calls(JsonNode calls, boolean typed) {
    List<@Nullable Object> prepared = new ArrayList<>(calls.size());
    for (JsonNode call : calls) {
      JsonNode function = call.path("function");
      if (!function.isObject()) {
        throw new Request("a tool call must have a function");
      }
      Map<String, @Nullable Object> called = new LinkedHashMap<>();
      Map<String, @Nullable Object> out = new LinkedHashMap<>();
      copy(call, "id", out);
      if (typed) {
        called.put("arguments", arguments(function.path("arguments")));
        copy(function, "name", called);
        out.put("function", called);
        copy(call, "type", out);
      } else {
        copy(function, "name", called);
        called.put("arguments", arguments(function.path("arguments")));
        copy(call, "type", out);
        out.put("function", called);
        more(function, called);
        more(call, out);
      }
      prepared.add(out);
    }
    return prepared;
  }

  private static void copy(JsonNode from, String field, Map<String, @Nullable Object> to) {
    if (from.has(field)) {
      to.put(field, JsonValues.of(from.get(field)));
    }
  }

  private static void more(JsonNode from, Map<String, @Nullable Object> to) {
    from.properties().forEach(field -> to.putIfAbsent(field.getKey(), JsonValues.of(field.getValue())));
  }

  /** The object that the API has as a text; a text that is none stays, but an empty one did not always. */
  private @Nullable Object arguments(JsonNode given) {
    boolean empty = given.isTextual() && given.textValue().isEmpty() && !TensorRtRule.ARGUMENTS_AS_SENT.holds(version);
    if (empty || given.isNull() || given.isMissingNode()) {
      return new LinkedHashMap<>();
    }
    if (!given.isTextual()) {
      return JsonValues.of(given);
    }
    try {
      JsonNode arguments = PythonJson.read(given.textValue());
      return arguments.isMissingNode() ? given.textValue() : JsonValues.of(arguments);
    } catch (JsonProcessingException e) {
      return given.textValue();
    }
  }
}
