package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.TemplateException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * The conversion of a {@code /v1/responses} body to the chat completion that has the same prompt in the Harmony format,
 * as vLLM 0.23 and later make it ({@code entrypoints/openai/responses/harmony.py}): each item is a message of its own.
 */
final class VllmHarmonyBody {
  /** Tools that an engine may have itself, which are declared otherwise. */
  private static final Set<String> BUILT_IN = Set.of("web_search_preview", "code_interpreter", "container");

  private final ObjectNode body;
  private final ObjectNode chat;
  private final ArrayNode messages;

  /** Of calls by the ids that the client has for them, which may be the same: their numbers. */
  private final Map<String, Integer> calls = new HashMap<>();

  private int numbers;

  private VllmHarmonyBody(ObjectNode body) {
    this.body = body;
    this.chat = body.objectNode();
    this.messages = chat.putArray("messages");
  }

  /** Throws {@link TemplateException.Request} when the engine refuses the request. */
  static ObjectNode chat(ObjectNode body) {
    return new VllmHarmonyBody(body).chat();
  }

  private ObjectNode chat() {
    JsonNode input = body.path("input");
    if (input.isObject()) {
      throw new TemplateException.Request("input must be a text or a list of items");
    }
    JsonNode instructions = body.path("instructions");
    boolean inInput = !instructions.isTextual() && isInstructing(input.path(0));
    // Without instructions one that has none, so that no later one is taken for them.
    messages.addObject().put("role", "system")
        .set("content", inInput ? content(input.get(0)) : instructions);
    if (input.isTextual()) {
      messages.addObject().put("role", "user").set("content", input);
    }
    for (int i = inInput ? 1 : 0; i < input.size(); i++) {
      add(input.get(i));
    }
    addTools();
    JsonNode effort = body.path("reasoning").path("effort");
    if (!effort.isMissingNode()) {
      chat.set("reasoning_effort", effort);
    }
    return chat;
  }

  private static boolean isInstructing(JsonNode item) {
    String role = item.path("role").asText();
    return role.equals("system") || role.equals("developer");
  }

  private void add(JsonNode item) {
    switch (item.path("type").asText("message")) {
      case "message" -> {
        String role = item.path("role").asText();
        if (!isInstructing(item) || hasText(item.path("content"))) {
          ObjectNode message = messages.addObject().put("role", role);
          if (role.equals("assistant")) {
            message.put(VllmHarmony.CHANNEL, VllmHarmony.FINAL);
          }
          message.set("content", content(item));
        }
      }
      case "reasoning" -> {
        String thoughts = thoughts(item.path("content"));
        if (thoughts != null) {
          messages.addObject().put("role", "assistant").put("reasoning", thoughts)
              .put(VllmHarmony.CHANNEL, VllmHarmony.ANALYSIS);
        }
      }
      case "function_call" -> {
        int number = ++numbers;
        calls.put(item.path("call_id").asText(), number);
        ObjectNode call = messages.addObject().put("role", "assistant").putArray("tool_calls").addObject();
        ObjectNode function = call.put("id", number).putObject("function");
        function.set("name", item.path("name"));
        function.set("arguments", item.path("arguments"));
      }
      case "function_call_output" -> {
        Integer number = calls.get(item.path("call_id").asText());
        if (number == null || !item.path("output").isTextual()) {
          throw new TemplateException.Request("input: a function_call_output needs its function_call, and a text");
        }
        messages.addObject().put("role", "tool").put("tool_call_id", number).set("content", item.path("output"));
      }
      default -> throw new TemplateException.Request("input: this model has no items of this type");
    }
  }

  /** A text, or parts of chats. */
  private JsonNode content(JsonNode item) {
    JsonNode content = item.path("content");
    if (!content.isArray()) {
      return content;
    }
    ArrayNode parts = chat.arrayNode();
    content.forEach(part -> parts.addObject().put("type", "text").put("text", part.path("text").asText("")));
    return parts;
  }

  private static boolean hasText(JsonNode content) {
    return content.isArray()
        ? StreamSupport.stream(content.spliterator(), false).anyMatch(part -> !part.path("text").asText("").isEmpty())
        : !content.asText("").isEmpty();
  }

  private static @Nullable String thoughts(JsonNode parts) {
    if (!parts.isArray() || parts.isEmpty()) {
      return null;
    }
    StringJoiner text = new StringJoiner("\n");
    parts.forEach(part -> text.add(part.path("text").asText()));
    return text.toString();
  }

  private void addTools() {
    for (JsonNode tool : body.path("tools")) {
      String type = tool.path("type").asText();
      if (type.equals("function")) {
        chat.withArrayProperty("tools").addObject().put("type", type).set("function", tool);
      } else if (!BUILT_IN.contains(type)) {
        throw new TemplateException.Request("tools: this model has no tools of this type");
      }
    }
  }
}
