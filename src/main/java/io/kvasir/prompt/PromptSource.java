package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** Where in a request's body its prompt is, and what must be done with it to have tokens. */
sealed interface PromptSource {
  /** The request says it in token ids. */
  record TokenIds(int[] ids) implements PromptSource {}

  /** A text. */
  record Text(String text, boolean addSpecialTokens) implements PromptSource {}

  /** A conversation, as a chat completion's body. */
  record Chat(ObjectNode body, boolean addSpecialTokens) implements PromptSource {}

  /** There is none, or none that can be known. */
  record Unknown(PromptReason reason) implements PromptSource {}

  /** Finds the prompt in a body of any shape. */
  static PromptSource of(Api api, JsonNode body) {
    if (!(body instanceof ObjectNode object)) {
      return new Unknown(PromptReason.UNREADABLE);
    }
    for (String field : new String[] {"truncate_prompt_tokens", "prompt_embeds", "suffix"}) {
      if (given(object, field)) {
        return new Unknown(PromptReason.ALTERED);
      }
    }
    return switch (api) {
      case CHAT -> object.path("input_ids").isArray() ? raw(object, "input_ids") : chat(object);
      case COMPLETIONS -> raw(object, "prompt");
      case EMBEDDINGS -> object.has("messages") ? embeddedChat(object) : raw(object, "input");
      case RESPONSES -> given(object, "previous_response_id") || given(object, "conversation")
          ? new Unknown(PromptReason.STORED_RESPONSE)
          : new Chat(ResponsesBody.chat(object), false);
      case MESSAGES -> new Chat(MessagesBody.chat(object), false);
    };
  }

  private static boolean given(ObjectNode body, String field) {
    return body.hasNonNull(field);
  }

  private static PromptSource chat(ObjectNode body) {
    if (!body.path("messages").isArray() || body.path("messages").isEmpty()) {
      return new Unknown(PromptReason.UNREADABLE);
    }
    return new Chat(body, body.path("add_special_tokens").asBoolean(false));
  }

  /** Nothing is generated after an embedded conversation. */
  private static PromptSource embeddedChat(ObjectNode body) {
    if (body.has("add_generation_prompt")) {
      return chat(body);
    }
    ObjectNode copy = body.objectNode();
    copy.setAll(body);
    return chat(copy.put("add_generation_prompt", false));
  }

  /** Text or ids; of a batch the first, which is where the engine begins. */
  private static PromptSource raw(ObjectNode body, String field) {
    JsonNode prompt = body.path(field);
    if (prompt.isArray() && !prompt.isEmpty() && !prompt.get(0).isNumber()) {
      prompt = prompt.get(0);
    }
    if (prompt.isTextual()) {
      return new Text(prompt.textValue(), body.path("add_special_tokens").asBoolean(true));
    }
    if (!prompt.isArray()) {
      return new Unknown(PromptReason.UNREADABLE);
    }
    int[] ids = new int[prompt.size()];
    for (int i = 0; i < ids.length; i++) {
      if (!prompt.get(i).canConvertToInt()) {
        return new Unknown(PromptReason.UNREADABLE);
      }
      ids[i] = prompt.get(i).intValue();
    }
    return new TokenIds(ids);
  }
}
