package io.kvasir.sim.api;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.api.RequiredOutput.Mode;
import io.kvasir.sim.api.RequiredOutput.Named;
import io.kvasir.sim.api.RequiredOutput.OutputFormat;
import io.kvasir.sim.api.RequiredOutput.Tool;
import io.kvasir.sim.api.RequiredOutput.ToolChoice;
import io.kvasir.sim.json.EngineApiException;
import java.util.ArrayList;
import java.util.List;

/** Reads from requests of the several APIs what their answers are to be. */
final class OutputReader {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String NAME = "name";

  private OutputReader() {}

  /** Of {@code /v1/chat/completions}. */
  static RequiredOutput chat(ObjectNode body) throws EngineApiException {
    List<Tool> tools = new ArrayList<>();
    body.path("tools").forEach(tool ->
        tools.add(tool(tool.path("function"), "parameters")));
    JsonNode choice = body.path("tool_choice");
    ToolChoice read = choice.isObject() ? new Named(choice.path("function").path(NAME).asText())
        : mode(choice.asText("auto"), tools);
    List<String> called = new ArrayList<>();
    boolean usersTurn = tools.isEmpty() || fromUsersTurn(body.path("messages"), (message, names) ->
        message.path("tool_calls").forEach(call -> names.add(call.path("function").path(NAME).asText())), called);
    return new RequiredOutput(tools, read, usersTurn, called, format(body));
  }

  /** Of {@code /v1/completions}. */
  static RequiredOutput completion(ObjectNode body) throws EngineApiException {
    return new RequiredOutput(List.of(), Mode.NONE, false, List.of(), format(body));
  }

  /** Of {@code /v1/responses}, of which the functions are simulated, and no tools of the server's. */
  static RequiredOutput response(ObjectNode body) throws EngineApiException {
    List<Tool> tools = new ArrayList<>();
    for (JsonNode tool : body.path("tools")) {
      if (tool.path("type").asText().equals("function")) {
        tools.add(tool(tool, "parameters"));
      }
    }
    JsonNode choice = body.path("tool_choice");
    ToolChoice read = choice.path("type").asText().equals("function") ? new Named(choice.path(NAME).asText())
        : mode(choice.isObject() ? choice.path("mode").asText("auto") : choice.asText("auto"), tools);
    List<String> called = new ArrayList<>();
    JsonNode input = body.path("input");
    boolean usersTurn = tools.isEmpty() || input.isTextual() || fromUsersTurn(input, (item, names) -> {
      if (item.path("type").asText().equals("function_call")) {
        names.add(item.path(NAME).asText());
      }
    }, called);
    JsonNode format = body.path("text").path("format");
    return new RequiredOutput(
        tools, read, usersTurn, called,
        switch (format.path("type").asText()) {
          case "json_schema" -> new OutputFormat.Json(format.path("schema"));
          case "json_object" -> new OutputFormat.Json(anyObject());
          default -> structured(body.path("structured_outputs"));
        });
  }

  /** Of {@code /v1/messages}. */
  static RequiredOutput message(ObjectNode body) {
    List<Tool> tools = new ArrayList<>();
    for (JsonNode tool : body.path("tools")) {
      if (tool.has("input_schema")) {
        tools.add(tool(tool, "input_schema"));
      }
    }
    JsonNode choice = body.path("tool_choice");
    ToolChoice read = switch (choice.path("type").asText()) {
      case "tool" -> new Named(choice.path(NAME).asText());
      case "any" -> mode("required", tools);
      case "none" -> Mode.NONE;
      default -> mode("auto", tools);
    };
    List<String> called = new ArrayList<>();
    boolean usersTurn = tools.isEmpty() || fromUsersTurn(body.path("messages"), (message, names) -> {
      for (JsonNode block : message.path("content")) {
        if (block.path("type").asText().equals("tool_use")) {
          names.add(block.path(NAME).asText());
        }
      }
    }, called);
    JsonNode schema = body.path("output_config").path("format").path("schema");
    OutputFormat format = schema.isObject() ? new OutputFormat.Json(schema) : new OutputFormat.Text();
    return new RequiredOutput(tools, read, usersTurn, called, format);
  }

  private static Tool tool(JsonNode function, String parameters) {
    JsonNode schema = function.path(parameters);
    return new Tool(
        function.path(NAME).asText(), schema.isObject() ? schema : JsonNodeFactory.instance.objectNode());
  }

  private static Mode mode(String name, List<Tool> tools) {
    return switch (name) {
      case "none" -> Mode.NONE;
      case "required" -> Mode.REQUIRED;
      default -> tools.isEmpty() ? Mode.NONE : Mode.AUTO;
    };
  }

  /** Adds the names of the tools that a turn of a conversation has called. */
  private interface CallNames {
    void add(JsonNode turn, List<String> names);
  }

  /** Whether a conversation ends with a user's turn; {@code called} gets what has been called since the last one. */
  private static boolean fromUsersTurn(JsonNode turns, CallNames calls, List<String> called) {
    int last = turns.size() - 1;
    while (last >= 0 && !isUsers(turns.get(last))) {
      calls.add(turns.get(last), called);
      last--;
    }
    return last >= 0 && last == turns.size() - 1;
  }

  /** The result of a tool comes in the user's name with Anthropic's API, and is no message of the user. */
  private static boolean isUsers(JsonNode turn) {
    if (!turn.path("role").asText().equals("user")) {
      return false;
    }
    for (JsonNode block : turn.path("content")) {
      if (block.path("type").asText().equals("tool_result")) {
        return false;
      }
    }
    return true;
  }

  private static OutputFormat format(ObjectNode body) throws EngineApiException {
    JsonNode format = body.path("response_format");
    return switch (format.path("type").asText("text")) {
      case "json_schema" -> new OutputFormat.Json(format.path("json_schema").path("schema"));
      // vLLM knows no schema here; clients that send one tell the model of it, too.
      case "json_object" ->
          new OutputFormat.Json(format.path("schema").isObject() ? format.get("schema") : anyObject());
      case "text" -> structured(body.path("structured_outputs"));
      default -> throw unsupported("response_format of type " + format.path("type").asText());
    };
  }

  private static OutputFormat structured(JsonNode given) throws EngineApiException {
    if (given.hasNonNull("json")) {
      return new OutputFormat.Json(schema(given.get("json")));
    }
    if (given.path("json_object").asBoolean()) {
      return new OutputFormat.Json(anyObject());
    }
    if (given.hasNonNull("choice")) {
      List<String> texts = new ArrayList<>();
      given.get("choice").forEach(text -> texts.add(text.asText()));
      if (texts.isEmpty()) {
        throw EngineApiException.badRequest("Choice '[]' cannot be empty");
      }
      return new OutputFormat.OneOf(texts);
    }
    if (given.hasNonNull("regex")) {
      return new OutputFormat.Matching(given.get("regex").asText());
    }
    for (String name : List.of("grammar", "structural_tag")) {
      if (given.hasNonNull(name)) {
        throw unsupported("structured_outputs with a " + name);
      }
    }
    return new OutputFormat.Text();
  }

  private static JsonNode schema(JsonNode given) throws EngineApiException {
    if (!given.isTextual()) {
      return given;
    }
    try {
      return JSON.readTree(given.textValue());
    } catch (JsonProcessingException e) {
      throw EngineApiException.badRequest("Invalid JSON grammar specification.");
    }
  }

  private static EngineApiException unsupported(String what) {
    return EngineApiException.badRequest("The simulated engine does not simulate " + what + ".");
  }

  /** What is written where any object would do. */
  private static JsonNode anyObject() {
    ObjectNode schema = JsonNodeFactory.instance.objectNode().put("type", "object");
    schema.putObject("properties").putObject("answer").put("type", "string");
    schema.putArray("required").add("answer");
    return schema;
  }
}
