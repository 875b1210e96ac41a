package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.JsonValues;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The conversion of an Anthropic {@code /v1/messages} body to a chat completion, as SGLang does it.
 *
 * <p>An engine with a reasoning parser puts back what was thought before, as the beginning of an answer's text, and
 * has the template switch thinking; one without leaves both out.
 *
 * <p>Source: SGLang {@code srt/entrypoints/anthropic/serving.py}.
 */
final class SglangMessagesBody {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final String EFFORT = "reasoning_effort";

  private final ArrayNode messages = JSON.arrayNode();
  private final SglangVersion engine;
  private final boolean inFull;
  private final @Nullable ReasoningParser reasoningParser;

  private SglangMessagesBody(SglangVersion engine, @Nullable ReasoningParser reasoningParser) {
    this.engine = engine;
    this.inFull = SglangRule.MESSAGES_IN_FULL.holds(engine);
    this.reasoningParser = reasoningParser;
  }

  static ObjectNode chat(ObjectNode body, SglangVersion engine, MessagesRules rules) {
    SglangMessagesBody conversation = new SglangMessagesBody(engine, rules.reasoningParser());
    conversation.system(body, rules.mergesSystem());
    for (JsonNode message : body.path("messages")) {
      if (!(rules.mergesSystem() && isSystem(message))) {
        conversation.add(message);
      }
    }
    ObjectNode chat = JSON.objectNode();
    chat.set("messages", conversation.messages);
    ArrayNode tools = tools(body.path("tools"), SglangRule.MESSAGES_STRICT.holds(engine));
    if (!tools.isEmpty()) {
      chat.set("tools", tools);
      choice(body.path("tool_choice"), chat);
    }
    ObjectNode kwargs = conversation.kwargs(body);
    if (!kwargs.isEmpty() && conversation.inFull) {
      chat.set("chat_template_kwargs", kwargs);
    }
    return chat;
  }

  /** Templates read one of the two switches; the engine finds out which. */
  private ObjectNode kwargs(ObjectNode body) {
    ObjectNode kwargs = JSON.objectNode();
    JsonNode thinking = body.path("thinking").path("type");
    if (reasoningParser != null && thinking.isTextual()) {
      boolean on = !thinking.textValue().equals("disabled");
      switch (reasoningParser.control()) {
        case NONE -> {
          // As it is.
        }
        case ARGUMENT -> kwargs.put("thinking", on).put("enable_thinking", on);
        case MISTRAL_EFFORT -> kwargs.put(EFFORT, on ? "medium" : "none");
        case HUNYUAN_EFFORT -> kwargs.put(EFFORT, on ? "high" : "no_think");
      }
    }
    JsonNode effort = body.path("output_config").path("effort");
    if (effort.isTextual()) {
      // A chat completion's own effort would switch thinking on, too.
      kwargs.put(EFFORT, effort.textValue().equals("xhigh") ? "max" : effort.textValue());
    }
    return kwargs;
  }

  private static boolean isSystem(JsonNode message) {
    return message.path("role").asText().equals("system");
  }

  private void system(ObjectNode body, boolean withLater) {
    List<String> parts = new ArrayList<>();
    JsonNode system = body.path("system");
    if (system.isTextual() && !system.textValue().isBlank()) {
      parts.add(system.textValue());
    }
    for (JsonNode block : system) {
      if (isText(block) && !block.path("text").asText().isEmpty()) {
        parts.add(block.path("text").asText());
      }
    }
    for (JsonNode message : body.path("messages")) {
      if (withLater && isSystem(message)) {
        String later = laterSystem(message.path("content"));
        if (!later.isEmpty()) {
          parts.add(later);
        }
      }
    }
    boolean evenEmpty = !system.isEmpty() && !SglangRule.INLINE_SYSTEM.holds(engine);
    if (!parts.isEmpty() || evenEmpty) {
      messages.addObject().put("role", "system").put("content", String.join("\n", parts));
    }
  }

  private static String laterSystem(JsonNode content) {
    if (content.isTextual()) {
      return content.textValue().strip();
    }
    List<String> texts = new ArrayList<>();
    for (JsonNode block : content) {
      String text = isText(block) ? block.path("text").asText().strip() : "";
      if (!text.isEmpty()) {
        texts.add(text);
      }
    }
    return String.join("\n", texts);
  }

  private static boolean isText(JsonNode block) {
    return block.path("type").asText().equals("text");
  }

  private void add(JsonNode message) {
    String role = message.path("role").asText();
    JsonNode content = message.path("content");
    ObjectNode turn = JSON.objectNode().put("role", role);
    if (content.isTextual()) {
      messages.add(turn.set("content", content));
      return;
    }
    ArrayNode parts = JSON.arrayNode();
    String thinking = thinking(content);
    if (reasoningParser != null && role.equals("assistant") && !thinking.isEmpty() && inFull) {
      text(parts, reasoningParser.around(thinking));
    }
    for (JsonNode block : content) {
      switch (block.path("type").asText()) {
        case "text" -> {
          if (inFull || !block.path("text").asText().isEmpty()) {
            text(parts, block.path("text").asText());
          }
        }
        case "image" -> image(parts, block.path("source"));
        case "search_result" -> found(block, parts);
        case "tool_use" -> call(block, turn.withArrayProperty("tool_calls"));
        case "tool_result" -> result(block, role, parts);
        default -> {
          // Thoughts, which stand before all, and kinds that the engine leaves out.
        }
      }
    }
    if (!parts.isEmpty()) {
      turn.set("content", content(parts));
    } else if (role.equals("user") || !(inFull || turn.has("tool_calls"))) {
      return;
    } else if (!turn.has("tool_calls")) {
      turn.put("content", "");
    }
    messages.add(turn);
  }

  private static String thinking(JsonNode content) {
    List<String> texts = new ArrayList<>();
    for (JsonNode block : content) {
      if (block.path("type").asText().equals("thinking") && !block.path("thinking").asText().isEmpty()) {
        texts.add(block.path("thinking").asText());
      }
    }
    return String.join("\n", texts);
  }

  private static JsonNode content(ArrayNode parts) {
    return parts.size() == 1 && isText(parts.get(0)) ? parts.get(0).get("text") : parts;
  }

  private static void text(ArrayNode parts, String text) {
    parts.addObject().put("type", "text").put("text", text);
  }

  private static void image(ArrayNode parts, JsonNode source) {
    boolean inline = source.path("type").asText().equals("base64");
    String given = source.path(inline ? "data" : "url").asText();
    if (given.isEmpty()) {
      return;
    }
    String url = inline ? "data:" + source.path("media_type").asText("image/png") + ";base64," + given : given;
    parts.addObject().put("type", "image_url").putObject("image_url").put("url", url);
  }

  private static void call(JsonNode block, ArrayNode calls) {
    ObjectNode call = calls.addObject();
    call.set("id", block.get("id"));
    call.put("type", "function");
    JsonNode input = block.path("input");
    call.putObject("function").put("name", block.path("name").asText())
        .put("arguments", input.isObject() ? JsonValues.text(input) : "{}");
  }

  /** A user's result is a turn of its own, after what the user said before it; references to tools are apart. */
  private void result(JsonNode block, String role, ArrayNode parts) {
    JsonNode content = block.path("content");
    ArrayNode results = JSON.arrayNode();
    List<String> texts = new ArrayList<>();
    for (JsonNode part : content) {
      switch (part.path("type").asText()) {
        case "text" -> addText(part.path("text").asText(), results, texts);
        case "search_result" -> addText(found(part), results, texts);
        case "image" -> image(results, part.path("source"));
        case "tool_reference" -> results.addObject().put("type", "tool_reference")
            .set("name", part.hasNonNull("tool_name") ? part.get("tool_name") : part.path("name"));
        default -> {
          // Left out.
        }
      }
    }
    String text = content.isTextual() ? content.textValue() : String.join("\n", texts);
    if (!role.equals("user")) {
      text(parts, "Tool result: " + text);
      return;
    }
    if (!parts.isEmpty() && inFull) {
      messages.addObject().put("role", "user").set("content", content(parts.deepCopy()));
      parts.removeAll();
    }
    String id = block.hasNonNull("tool_use_id") ? block.path("tool_use_id").asText() : block.path("id").asText();
    for (JsonNode group : content.isArray() ? groups(results) : List.of(JSON.textNode(text))) {
      messages.addObject().put("role", "tool").put("tool_call_id", id).set("content", group);
    }
  }

  private static void addText(String text, ArrayNode results, List<String> texts) {
    if (!text.isEmpty()) {
      text(results, text);
      texts.add(text);
    }
  }

  /** The parts in runs: those that refer to tools, and others. */
  private List<JsonNode> groups(ArrayNode parts) {
    if (!SglangRule.REFERENCES_APART.holds(engine) && !parts.isEmpty()) {
      return List.of(content(parts));
    }
    List<ArrayNode> runs = new ArrayList<>();
    boolean last = false;
    for (JsonNode part : parts) {
      boolean reference = part.path("type").asText().equals("tool_reference");
      if (runs.isEmpty() || reference != last) {
        runs.add(JSON.arrayNode());
      }
      runs.getLast().add(part);
      last = reference;
    }
    return runs.isEmpty() ? List.of(JSON.textNode("")) : runs.stream().map(SglangMessagesBody::content).toList();
  }

  private static void found(JsonNode block, ArrayNode parts) {
    String text = found(block);
    if (!text.isEmpty()) {
      text(parts, text);
    }
  }

  private static String found(JsonNode block) {
    List<String> lines = new ArrayList<>();
    line("Title: ", block.path("title").asText(), lines);
    JsonNode source = block.path("source");
    line("Source: ", source.isObject() ? source.path("url").asText(source.path("text").asText())
        : source.asText(), lines);
    JsonNode content = block.path("content");
    List<String> texts = new ArrayList<>();
    if (content.isTextual()) {
      texts.add(content.textValue());
    }
    for (JsonNode part : content) {
      if (isText(part) && !part.path("text").asText().isEmpty()) {
        texts.add(part.path("text").asText());
      }
    }
    line("Content: ", String.join("\n", texts), lines);
    return String.join("\n", lines);
  }

  private static void line(String name, String text, List<String> to) {
    if (!text.isEmpty()) {
      to.add(name + text);
    }
  }

  /** Without those of Anthropic's own servers, which have no schema. */
  private static ArrayNode tools(JsonNode given, boolean strict) {
    ArrayNode tools = JSON.arrayNode();
    for (JsonNode tool : given) {
      if (!tool.has("input_schema")) {
        continue;
      }
      ObjectNode converted = tools.addObject().put("type", "function");
      ObjectNode function = converted.putObject("function").put("name", tool.path("name").asText());
      function.put("description", tool.path("description").asText(""));
      ObjectNode parameters = function.putObject("parameters");
      tool.get("input_schema").properties().forEach(member -> parameters.set(member.getKey(), member.getValue()));
      if (!parameters.has("type")) {
        parameters.put("type", "object");
      }
      function.put("strict", strict && tool.path("strict").asBoolean(false));
      if (tool.hasNonNull("defer_loading")) {
        converted.set("defer_loading", tool.get("defer_loading"));
      }
    }
    return tools;
  }

  private static void choice(JsonNode choice, ObjectNode chat) {
    switch (choice.path("type").asText()) {
      case "none" -> chat.put("tool_choice", "none");
      case "any" -> chat.put("tool_choice", "required");
      case "tool" -> chat.putObject("tool_choice").put("type", "function").putObject("function")
          .set("name", choice.path("name"));
      default -> chat.put("tool_choice", "auto");
    }
  }
}
