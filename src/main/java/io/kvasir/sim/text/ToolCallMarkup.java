package io.kvasir.sim.text;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.Api;
import io.kvasir.sim.json.EngineApiException;
import org.jspecify.annotations.Nullable;

/**
 * How a model writes the call of a tool: as its chat template writes one that was made before, so that the call, sent
 * back as history, has the very tokens that were generated; else as the models do for which vLLM has its parser {@code
 * hermes}.
 *
 * @param begin before the tool's name
 * @param middle between the name and the arguments
 * @param end behind the arguments
 * @param spaced whether the JSON of arguments has blanks behind commas and colons
 */
record ToolCallMarkup(String begin, String middle, String end, boolean spaced) {
  private static final ToolCallMarkup HERMES =
      new ToolCallMarkup("<tool_call>\n{\"name\": \"", "\", \"arguments\": ", "}\n</tool_call>", true);
  private static final String NAME = "zq_name";
  private static final String SPACED = "{\"zq_key\": \"zq_value\"}";
  private static final String COMPACT = "{\"zq_key\":\"zq_value\"}";

  /** The model's, from a conversation with a call in it. */
  static ToolCallMarkup of(ModelText model) {
    try {
      String question = model.decode(model.conversation(Api.CHAT, conversation(false)));
      String called = model.decode(model.conversation(Api.CHAT, conversation(true)));
      ToolCallMarkup found = called.startsWith(question) ? found(called.substring(question.length()), model) : null;
      return found == null ? HERMES : found;
    } catch (EngineApiException refused) {
      return HERMES; // a model without tools
    }
  }

  private static @Nullable ToolCallMarkup found(String turn, ModelText model) {
    boolean spaced = turn.contains(SPACED);
    String arguments = spaced ? SPACED : COMPACT;
    int name = turn.indexOf(NAME);
    int from = turn.indexOf(arguments);
    int end = turn.indexOf(model.decode(new int[] {model.eos()}));
    if (name < 0 || from < name || end < from) {
      return null;
    }
    return new ToolCallMarkup(
        turn.substring(0, name), turn.substring(name + NAME.length(), from), turn.substring(from + arguments.length(),
            end), spaced);
  }

  private static ObjectNode conversation(boolean called) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    ObjectNode function = body.putArray("tools").addObject().put("type", "function").putObject("function");
    function.put("name", NAME).put("description", "?").putObject("parameters").put("type", "object")
        .putObject("properties");
    ArrayNode messages = body.putArray("messages");
    messages.addObject().put("role", "user").put("content", "?");
    if (called) {
      body.put("add_generation_prompt", false);
      ObjectNode message = messages.addObject().put("role", "assistant").put("content", "");
      message.putArray("tool_calls").addObject().put("id", "call_zq").put("type", "function").putObject("function")
          .put("name", NAME).put("arguments", SPACED);
    }
    return body;
  }
}
