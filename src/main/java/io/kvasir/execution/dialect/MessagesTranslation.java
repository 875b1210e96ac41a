package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.ByteSink;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Anthropic's {@code /v1/messages} served by a chat completion. */
public final class MessagesTranslation implements Translation {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  /** Clients put one into the system prompt that differs in every request; engines take it out. */
  private static final String BILLING = "x-anthropic-billing-header";

  private final JsonMembers client;
  private final boolean forSglang;

  /** A translation of a request to {@code /v1/messages}; system texts and tools are as vLLM makes them. */
  public MessagesTranslation(JsonMembers client) {
    this(client, false);
  }

  private MessagesTranslation(JsonMembers client, boolean forSglang) {
    this.client = client;
    this.forSglang = forSglang;
  }

  /** The same as SGLang makes them, by whose rules prompts are expected of its engines. */
  static MessagesTranslation forSglang(JsonMembers client) {
    return new MessagesTranslation(client, true);
  }

  @Override
  public byte[] request() {
    ChatTurns turns = new ChatTurns();
    turns.system(system(client.value("system")));
    client.value("messages").forEach(message -> add(message, turns));
    JsonMembers chat = client
        .without("system", "stop_sequences", "tool_choice", "tools", "metadata", "thinking")
        .with("messages", turns.json())
        .withCopy("stop", client, "stop_sequences");
    if (client.value("stream").asBoolean(false)) {
      chat = chat.with("stream_options", "{\"include_usage\":true}");
    }
    ArrayNode tools = tools(client.value("tools"));
    if (!tools.isEmpty()) {
      chat = chat.with("tools", tools.toString());
      String choice = choice(client.value("tool_choice"));
      chat = choice.isEmpty() ? chat : chat.with("tool_choice", choice);
    }
    return chat.bytes();
  }

  private String system(JsonNode system) {
    List<String> texts = new ArrayList<>();
    texts.add(system.asText(""));
    for (JsonNode block : system) {
      String part = block.path("text").asText("");
      if (block.path("type").asText().equals("text") && (forSglang || !part.startsWith(BILLING))) {
        texts.add(part);
      }
    }
    texts.removeIf(String::isEmpty);
    return String.join(forSglang ? "\n" : "", texts);
  }

  private static void add(JsonNode message, ChatTurns turns) {
    JsonNode content = message.path("content");
    ArrayNode parts = JSON.arrayNode();
    ArrayNode calls = JSON.arrayNode();
    StringBuilder thinking = new StringBuilder();
    if (content.isTextual()) {
      ChatTurns.text(parts, content.textValue());
    }
    for (JsonNode block : content) {
      switch (block.path("type").asText()) {
        case "text" -> ChatTurns.text(parts, block.path("text").asText());
        case "image" -> ChatTurns.image(parts, url(block.path("source")));
        case "thinking" -> thinking.append(block.path("thinking").asText());
        case "redacted_thinking" -> {
          // Only the engine that made it can read it.
        }
        case "tool_use" -> ChatTurns.call(
            calls, block.path("id").asText(), block.path("name").asText(), block.path("input").toString());
        case "tool_result" -> result(block, turns, parts);
        default -> parts.add(block);
      }
    }
    turns.message(message.path("role").asText(), parts, thinking.toString(), calls);
  }

  /** A tool's result is a turn of its own; images in it come with the user's next words. */
  private static void result(JsonNode block, ChatTurns turns, ArrayNode parts) {
    JsonNode content = block.path("content");
    StringBuilder text = new StringBuilder(content.asText(""));
    for (JsonNode part : content) {
      switch (part.path("type").asText()) {
        case "image" -> ChatTurns.image(parts, url(part.path("source")));
        default -> text.append(text.isEmpty() ? "" : "\n").append(part.path("text").asText());
      }
    }
    turns.result(block.path("tool_use_id").asText(), text.toString());
  }

  private static String url(JsonNode source) {
    return source.path("type").asText().equals("base64")
        ? "data:" + source.path("media_type").asText() + ";base64," + source.path("data").asText()
        : source.path("url").asText();
  }

  private ArrayNode tools(JsonNode given) {
    ArrayNode tools = JSON.arrayNode();
    for (JsonNode tool : given) {
      ObjectNode function = tools.addObject().put("type", "function").putObject("function");
      function.set("name", tool.get("name"));
      if (tool.hasNonNull("description")) {
        function.set("description", tool.get("description"));
      } else if (forSglang) {
        function.put("description", "");
      }
      function.set("parameters", tool.path("input_schema"));
      if (forSglang) {
        function.put("strict", tool.path("strict").asBoolean(false));
      }
    }
    return tools;
  }

  private static String choice(JsonNode choice) {
    return switch (choice.path("type").asText("")) {
      case "auto" -> "\"auto\"";
      case "any" -> "\"required\"";
      case "none" -> "\"none\"";
      case "tool" -> "{\"type\":\"function\",\"function\":{\"name\":" + choice.path("name") + "}}";
      default -> "";
    };
  }

  @Override
  public byte[] whole(byte[] answer) {
    JsonNode chat = ChatAnswer.read(answer);
    JsonNode choice = chat.path("choices").path(0);
    JsonNode chatMessage = choice.path("message");
    ObjectNode message = describe(chat);
    ArrayNode content = message.putArray("content");
    String thinking = ChatAnswer.reasoning(chatMessage);
    if (!thinking.isEmpty()) {
      content.addObject().put("type", "thinking").put("thinking", thinking).put("signature", "");
    }
    String text = chatMessage.path("content").asText("");
    if (!text.isEmpty()) {
      content.addObject().put("type", "text").put("text", text);
    }
    for (JsonNode call : chatMessage.path("tool_calls")) {
      JsonNode function = call.path("function");
      ObjectNode use = content.addObject().put("type", "tool_use");
      use.put("id", call.path("id").asText()).put("name", function.path("name").asText());
      use.set("input", ChatAnswer.arguments(function.path("arguments").asText("")));
    }
    stop(message, choice);
    message.set("usage", usage(chat.path("usage")));
    return ChatAnswer.bytes(message);
  }

  private static ObjectNode describe(JsonNode chat) {
    return JSON.objectNode()
        .put("id", chat.path("id").asText())
        .put("type", "message")
        .put("role", "assistant")
        .put("model", chat.path("model").asText());
  }

  /** Engines report which stop text ended an answer: SGLang in {@code matched_stop}, vLLM in {@code stop_reason}. */
  private static void stop(ObjectNode into, JsonNode choice) {
    JsonNode matched = choice.path("matched_stop");
    JsonNode stop = matched.isTextual() ? matched : choice.path("stop_reason");
    String reason = switch (choice.path("finish_reason").asText("stop")) {
      case "length" -> "max_tokens";
      case "tool_calls" -> "tool_use";
      case "content_filter" -> "refusal";
      default -> stop.isTextual() ? "stop_sequence" : "end_turn";
    };
    into.put("stop_reason", reason);
    into.put("stop_sequence", reason.equals("stop_sequence") ? stop.textValue() : null);
  }

  /** As Anthropic counts: what came from the cache stands apart. */
  private static ObjectNode usage(JsonNode usage) {
    int cached = ChatAnswer.cached(usage);
    ObjectNode out = JSON.objectNode().put("input_tokens", usage.path("prompt_tokens").asInt(0) - cached);
    if (cached > 0) {
      out.put("cache_read_input_tokens", cached);
    }
    return out.put("output_tokens", usage.path("completion_tokens").asInt(0));
  }

  @Override
  public byte[] error(int status, byte[] answer) {
    ObjectNode error = JSON.objectNode().put("type", "error");
    error.putObject("error")
        .put("type", status >= 500 ? "api_error" : status == 429 ? "rate_limit_error" : "invalid_request_error")
        .put("message", ChatAnswer.message(status, answer));
    return ChatAnswer.bytes(error);
  }

  @Override
  public Stream stream(ByteSink client) {
    return new MessagesStream(client);
  }

  /**
   * A translation of a chat that goes on from the text of a message whose events the client has.
   *
   * @param block the number of the text's block, which is open
   */
  public static Stream rest(ByteSink client, int block) {
    return new MessagesStream(client, block);
  }

  /** Chunks to blocks: one is open at a time, and a chunk of another kind begins the next. */
  private static final class MessagesStream extends ChatStream {
    private static final String TEXT = "text";
    private String open = "";
    private int index = -1;
    private ObjectNode end = JSON.objectNode().put("stop_reason", "end_turn").putNull("stop_sequence");
    private ObjectNode usage = usage(JSON.objectNode());

    MessagesStream(ByteSink client) {
      super(client, false);
    }

    /** The rest of a message whose block of text is open. */
    MessagesStream(ByteSink client, int block) {
      super(client, true);
      open = TEXT;
      index = block;
    }

    @Override
    void begin(JsonNode chunk) throws IOException {
      ObjectNode start = JSON.objectNode().put("type", "message_start");
      ObjectNode message = describe(chunk);
      message.putArray("content");
      message.putNull("stop_reason").putNull("stop_sequence").set("usage", usage);
      start.set("message", message);
      emit(start);
    }

    @Override
    void reasoning(String text) throws IOException {
      block("thinking", JSON.objectNode().put("type", "thinking").put("thinking", "").put("signature", ""));
      delta(JSON.objectNode().put("type", "thinking_delta").put("thinking", text));
    }

    @Override
    void text(String text) throws IOException {
      block(TEXT, JSON.objectNode().put("type", "text").put("text", ""));
      delta(JSON.objectNode().put("type", "text_delta").put("text", text));
    }

    @Override
    void call(int number, String id, String name, String arguments) throws IOException {
      ObjectNode use = JSON.objectNode().put("type", "tool_use").put("id", id).put("name", name);
      use.putObject("input");
      block("call " + number, use);
      if (!arguments.isEmpty()) {
        delta(JSON.objectNode().put("type", "input_json_delta").put("partial_json", arguments));
      }
    }

    @Override
    void finish(JsonNode choice) {
      end = JSON.objectNode();
      stop(end, choice);
    }

    @Override
    void count(JsonNode counts) {
      usage = usage(counts);
    }

    @Override
    void done() throws IOException {
      close();
      ObjectNode delta = JSON.objectNode().put("type", "message_delta");
      delta.set("delta", end);
      delta.set("usage", usage);
      emit(delta);
      emit(JSON.objectNode().put("type", "message_stop"));
    }

    @Override
    void failed(String message) throws IOException {
      ObjectNode error = JSON.objectNode().put("type", "error");
      error.putObject("error").put("type", "api_error").put("message", message);
      emit(error);
    }

    private void block(String kind, ObjectNode content) throws IOException {
      if (open.equals(kind)) {
        return;
      }
      close();
      open = kind;
      index++;
      ObjectNode start = JSON.objectNode().put("type", "content_block_start").put("index", index);
      start.set("content_block", content);
      emit(start);
    }

    private void delta(ObjectNode delta) throws IOException {
      ObjectNode event = JSON.objectNode().put("type", "content_block_delta").put("index", index);
      event.set("delta", delta);
      emit(event);
    }

    private void close() throws IOException {
      if (!open.isEmpty()) {
        emit(JSON.objectNode().put("type", "content_block_stop").put("index", index));
        open = "";
      }
    }
  }
}
