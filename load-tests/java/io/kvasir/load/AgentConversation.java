package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Random;

/**
 * An agent's conversation by one of the APIs that agents have: each of its answers calls a tool, or is said to have
 * called one, whose result comes in two parts. Used by one thread.
 */
abstract sealed class AgentConversation {
  /** Tokens of an answer at most. */
  static final int ANSWER_TOKENS = 24;

  private final String path;
  private final ObjectNode body = new ObjectMapper().createObjectNode();

  private AgentConversation(String path, String model, String limit) {
    this.path = path;
    body.put("model", model).put(limit, ANSWER_TOKENS).put("temperature", 0);
  }

  /** One that begins with this question. */
  static AgentConversation of(TrafficKind kind, String model, String system, String question) {
    return switch (kind) {
      case TOOLS -> new Chat(model, system, question);
      case MESSAGES -> new Messages(model, system, question);
      case RESPONSES -> new Responses(model, system, question);
      case MULTI_TURN, CONCURRENT, BRANCHING, SALTED, LORA, PREFILL_DECODE, EVICTING, RESTARTING, LOSSY ->
          throw new IllegalArgumentException(kind + " is no agents' traffic");
    };
  }

  /** Of the API. */
  final String path() {
    return path;
  }

  /** The next request's body. */
  final ObjectNode body() {
    return body;
  }

  /** The answer came; what it has called has a result, and where it has called nothing, what it is said to have. */
  abstract void answered(JsonNode answer, Random random);

  private static ObjectNode parameters() {
    ObjectNode parameters = new ObjectMapper().createObjectNode().put("type", "object");
    parameters.putObject("properties").putObject("word").put("type", "string");
    parameters.putArray("required").add("word");
    return parameters;
  }

  private static ObjectNode describe(ObjectNode tool) {
    return tool.put("name", "look_up").put("description", "Looks up a word in the dictionary.");
  }

  private static boolean isOfType(JsonNode part, String type) {
    return part.path("type").asText().equals(type);
  }

  private static String callId(Random random) {
    return "call_%08x".formatted(random.nextInt());
  }

  private static String arguments(Random random) {
    return "{\"word\": \"%s\"}".formatted(Words.text(random, 8));
  }

  private static void text(ArrayNode content, String text) {
    content.addObject().put("type", "text").put("text", text);
  }

  private static void result(ArrayNode content, Random random) {
    for (int part = 0; part < 2; part++) {
      text(content, Words.text(random, 150));
    }
  }

  /** OpenAI's chat completions. */
  private static final class Chat extends AgentConversation {
    private final ArrayNode messages;

    private Chat(String model, String system, String question) {
      super("/v1/chat/completions", model, "max_tokens");
      ObjectNode tool = body().putArray("tools").addObject().put("type", "function");
      describe(tool.putObject("function")).set("parameters", parameters());
      messages = body().putArray("messages");
      messages.addObject().put("role", "system").put("content", system);
      messages.addObject().put("role", "user").put("content", question);
    }

    @Override
    void answered(JsonNode answer, Random random) {
      ObjectNode message = answer.at("/choices/0/message").deepCopy();
      if (message.path("tool_calls").isEmpty()) {
        message.putArray("tool_calls").addObject().put("id", callId(random)).put("type", "function")
            .putObject("function").put("name", "look_up").put("arguments", arguments(random));
      }
      messages.add(message);
      String id = message.at("/tool_calls/0/id").asText();
      result(messages.addObject().put("role", "tool").put("tool_call_id", id).putArray("content"), random);
    }
  }

  /** Anthropic's messages. */
  private static final class Messages extends AgentConversation {
    private final ArrayNode messages;

    private Messages(String model, String system, String question) {
      super("/v1/messages", model, "max_tokens");
      body().putArray("system").addObject().put("type", "text").put("text", system)
          .putObject("cache_control").put("type", "ephemeral");
      describe(body().putArray("tools").addObject()).set("input_schema", parameters());
      messages = body().putArray("messages");
      text(messages.addObject().put("role", "user").putArray("content"), question);
    }

    @Override
    void answered(JsonNode answer, Random random) {
      ArrayNode said = messages.addObject().put("role", "assistant").putArray("content");
      answer.path("content").forEach(block -> said.add(block.deepCopy()));
      if (!isOfType(said.path(said.size() - 1), "tool_use")) {
        said.addObject().put("type", "tool_use").put("id", callId(random)).put("name", "look_up")
            .putObject("input").put("word", Words.text(random, 8));
      }
      String id = said.path(said.size() - 1).path("id").asText();
      ObjectNode used = messages.addObject().put("role", "user").putArray("content").addObject();
      result(used.put("type", "tool_result").put("tool_use_id", id).putArray("content"), random);
    }
  }

  /** OpenAI's responses, of which the engine stores none. */
  private static final class Responses extends AgentConversation {
    private final ArrayNode input;

    private Responses(String model, String system, String question) {
      super("/v1/responses", model, "max_output_tokens");
      body().put("store", false).put("instructions", system);
      describe(body().putArray("tools").addObject().put("type", "function")).set("parameters", parameters());
      input = body().putArray("input");
      input.addObject().put("role", "user").putArray("content")
          .addObject().put("type", "input_text").put("text", question);
    }

    @Override
    void answered(JsonNode answer, Random random) {
      answer.path("output").forEach(item -> input.add(item.deepCopy()));
      if (!isOfType(input.path(input.size() - 1), "function_call")) {
        input.addObject().put("type", "function_call").put("call_id", callId(random)).put("name", "look_up")
            .put("arguments", arguments(random));
      }
      String id = input.path(input.size() - 1).path("call_id").asText();
      input.addObject().put("type", "function_call_output").put("call_id", id).put("output", Words.text(random, 300));
    }
  }
}
