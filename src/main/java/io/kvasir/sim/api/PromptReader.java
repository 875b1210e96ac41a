package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.Api;
import io.kvasir.sim.core.GenerationRequest;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.RequestBody;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.text.ModelText;
import io.kvasir.sim.transfer.TransferDialect;
import java.util.ArrayList;
import java.util.List;

/** The prompts of requests as tokens, by vLLM's rules for prompts. */
final class PromptReader {
  private final SimSettings settings;
  private final ModelText text;

  PromptReader(SimSettings settings, ModelText text) {
    this.settings = settings;
    this.text = text;
  }

  /** Of {@code /v1/chat/completions}. */
  int[] chat(RequestBody body) throws EngineApiException {
    JsonNode messages = body.get("messages");
    if (messages == null) {
      throw body.missing("messages");
    }
    if (!messages.isArray()) {
      throw body.invalid("list_type", "messages", "Input should be a valid list");
    }
    if (body.flag("continue_final_message") && body.get("add_generation_prompt") == null) {
      // It is true where it is not given, which the template's renderer refuses.
      throw EngineApiException.badRequest(
          "continue_final_message and add_generation_prompt are not compatible. Use continue_final_message when you "
              + "want the model to continue the final message, and add_generation_prompt when you want to add a "
              + "header that will prompt it to start a new assistant message instead.");
    }
    JsonNode tokens = body.get("prompt_token_ids");
    if (settings.kv().transfer().dialect() == TransferDialect.TENSORRT_LLM && tokens != null && tokens.isArray()) {
      return GenerationRequest.ids(tokens, "prompt_token_ids");
    }
    return text.conversation(Api.CHAT, body.json());
  }

  /** Of {@code /v1/responses}; nothing is kept that a request could go on from. */
  int[] response(RequestBody body) throws EngineApiException {
    if (body.get("input") == null) {
      throw body.missing("input");
    }
    String previous = body.text("previous_response_id");
    if (previous != null) {
      throw EngineApiException.invalidRequest(
          404, "Response with id '" + previous + "' not found.", "response_id");
    }
    return text.conversation(Api.RESPONSES, body.json());
  }

  /** Of {@code /v1/messages}. */
  int[] messages(RequestBody body) throws EngineApiException {
    if (body.get("messages") == null) {
      throw body.missing("messages");
    }
    return text.conversation(Api.MESSAGES, body.json());
  }

  /** The prompts in {@code field}: a text, several, token ids, or several lists of them. */
  List<int[]> prompts(RequestBody body, String field) throws EngineApiException {
    JsonNode given = body.get(field);
    if (given == null) {
      throw body.missing(field);
    }
    boolean special = special(body);
    List<int[]> prompts = new ArrayList<>();
    if (given.isTextual()) {
      prompts.add(text.encode(given.textValue(), special));
    } else if (given.isArray() && !given.isEmpty() && given.get(0).isNumber()) {
      prompts.add(GenerationRequest.ids(given, field));
    } else if (given.isArray()) {
      for (JsonNode one : given) {
        if (one.isTextual()) {
          prompts.add(text.encode(one.textValue(), special));
        } else if (one.isArray()) {
          prompts.add(GenerationRequest.ids(one, field));
        } else {
          throw body.invalid("string_type", field, "Input should be a valid string");
        }
      }
    } else {
      throw body.invalid("string_type", field, "Input should be a valid string");
    }
    if (prompts.isEmpty() || prompts.stream().anyMatch(prompt -> prompt.length == 0)) {
      throw EngineApiException.parameter("Either prompt or prompt_embeds must be provided and non-empty.", field);
    }
    return prompts;
  }

  /** The texts of prompts that {@link #prompts} has read: as they were given, or of their tokens. */
  List<String> texts(RequestBody body, List<int[]> prompts) {
    JsonNode given = body.json().path("prompt");
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < prompts.size(); i++) {
      JsonNode one = given.isTextual() ? given : given.path(i);
      texts.add(one.isTextual() ? one.textValue() : text.decode(prompts.get(i)));
    }
    return texts;
  }

  /** What {@code /tokenize} answers; TensorRT-LLM's takes texts alone. */
  JsonNode tokenize(RequestBody body) throws EngineApiException {
    int[] tokens;
    if (body.get("messages") != null && settings.http().api() != EngineApi.TENSORRT_LLM) {
      tokens = chat(body);
    } else {
      String prompt = body.text("prompt");
      if (prompt == null) {
        throw body.missing("prompt");
      }
      tokens = text.encode(prompt, special(body));
    }
    ObjectNode answer = JsonNodeFactory.instance.objectNode();
    answer.put("count", tokens.length).put("max_model_len", settings.maxModelLen());
    ArrayNode list = answer.putArray("tokens");
    for (int token : tokens) {
      list.add(Integer.toUnsignedLong(token));
    }
    if (body.flag("return_token_strs")) {
      ArrayNode strings = answer.putArray("token_strs");
      for (int token : tokens) {
        strings.add(text.decode(new int[] {token}));
      }
    } else {
      answer.putNull("token_strs");
    }
    return answer;
  }

  /** What {@code /detokenize} answers. */
  JsonNode detokenize(RequestBody body) throws EngineApiException {
    JsonNode tokens = body.get("tokens");
    if (tokens == null || !tokens.isArray()) {
      throw body.missing("tokens");
    }
    return JsonNodeFactory.instance.objectNode().put("prompt", text.decode(GenerationRequest.ids(tokens, "tokens")));
  }

  private static boolean special(RequestBody body) throws EngineApiException {
    return body.get("add_special_tokens") == null || body.flag("add_special_tokens");
  }
}
