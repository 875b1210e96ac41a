package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Random;

/**
 * An agent's conversation by one of the APIs that agents have: each of its answers calls a tool, whose result comes in
 * two parts. Used by one thread.
 */
sealed interface AgentConversation {
  /** Tokens of an answer at most. */
  int ANSWER_TOKENS = 24;

  /** Of the API. */
  String path();

  /** The next request's body. */
  ObjectNode body();

  /** The answer came, and what it is said to have called has this result. */
  void answered(JsonNode answer, Random random);

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

  private static ObjectNode parameters() {
    ObjectNode parameters = new ObjectMapper().createObjectNode().put("type", "object");
    parameters.putObject("properties").putObject("word").put("type", "string");
    parameters.putArray("required").add("word");
    return parameters;
  }

  private static ObjectNode describe(ObjectNode tool) {
    return tool.put("name", "look_up").put("description", "Looks up a word in the dictionary.");
  }

  private static String callId(Random random) {
    return "call_%08x".formatted(random.nextInt());
  }

  /** OpenAI's chat completions. */
  final class Chat implements AgentConversation {
    private final ObjectNode body = new ObjectMapper().createObjectNode();
    private final ArrayNode messages;

    private Chat(String model, String system, String question) {
      body.put("model", model).put("max_tokens", ANSWER_TOKENS).put("temperature", 0);
      ObjectNode function = describe(body.putArray("tools").addObject().put("type", "function").putObject("function"));
      function.set("parameters", parameters());
      messages = body.putArray("messages");
      messages.addObject().put("role", "system").put("content", system);
      messages.addObject().put("role", "user").put("content", question);
    }

    @Override
    public String path() {
      return "/v1/chat/completions";
    }

    @Override
    public ObjectNode body() {
      return body;
    }

    @Override
    public void answered(JsonNode answer, Random random) {
      String id = callId(random);
      ObjectNode message = answer.at("/choices/0/message").deepCopy();
      message.putArray("tool_calls").addObject().put("id", id).put("type", "function").putObject("function")
          .put("name", "look_up").put("arguments", "{\"word\": \"%s\"}".formatted(Words.text(random, 8)));
      messages.add(message);
      ArrayNode result = messages.addObject().put("role", "tool").put("tool_call_id", id).putArray("content");
      for (int part = 0; part < 2; part++) {
        result.addObject().put("type", "text").put("text", Words.text(random, 150));
      }
    }
  }

  /** Anthropic's messages. */
  final class Messages implements AgentConversation {
    private final ObjectNode body = new ObjectMapper().createObjectNode();
    private final ArrayNode messages;

    private Messages(String model, String system, String question) {
      body.put("model", model).put("max_tokens", ANSWER_TOKENS).put("temperature", 0);
      body.putArray("system").addObject().put("type", "text").put("text", system)
          .putObject("cache_control").put("type", "ephemeral");
      describe(body.putArray("tools").addObject()).set("input_schema", parameters());
      messages = body.putArray("messages");
      text(messages.addObject().put("role", "user").putArray("content"), question);
    }

    private static void text(ArrayNode content, String text) {
      content.addObject().put("type", "text").put("text", text);
    }

    @Override
    public String path() {
      return "/v1/messages";
    }

    @Override
    public ObjectNode body() {
      return body;
    }

    @Override
    public void answered(JsonNode answer, Random random) {
      String id = callId(random);
      ArrayNode said = messages.addObject().put("role", "assistant").putArray("content");
      answer.path("content").forEach(block -> said.add(block.deepCopy()));
      said.addObject().put("type", "tool_use").put("id", id).put("name", "look_up")
          .putObject("input").put("word", Words.text(random, 8));
      ArrayNode result =
          messages.addObject().put("role", "user").putArray("content")
              .addObject().put("type", "tool_result").put("tool_use_id", id).putArray("content");
      for (int part = 0; part < 2; part++) {
        text(result, Words.text(random, 150));
      }
    }
  }

  /** OpenAI's responses, of which the engine stores none. */
  final class Responses implements AgentConversation {
    private final ObjectNode body = new ObjectMapper().createObjectNode();
    private final ArrayNode input;

    private Responses(String model, String system, String question) {
      body.put("model", model).put("max_output_tokens", ANSWER_TOKENS).put("temperature", 0).put("store", false);
      body.put("instructions", system);
      describe(body.putArray("tools").addObject().put("type", "function")).set("parameters", parameters());
      input = body.putArray("input");
      input.addObject().put("role", "user").putArray("content")
          .addObject().put("type", "input_text").put("text", question);
    }

    @Override
    public String path() {
      return "/v1/responses";
    }

    @Override
    public ObjectNode body() {
      return body;
    }

    @Override
    public void answered(JsonNode answer, Random random) {
      String id = callId(random);
      answer.path("output").forEach(item -> input.add(item.deepCopy()));
      input.addObject().put("type", "function_call").put("call_id", id).put("name", "look_up")
          .put("arguments", "{\"word\": \"%s\"}".formatted(Words.text(random, 8)));
      input.addObject().put("type", "function_call_output").put("call_id", id).put("output", Words.text(random, 300));
    }
  }
}
