package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** The prompt in a request's body, in the form in which the request has it. */
sealed interface PromptSource {
  /** A prompt in token ids. */
  record TokenIds(int[] ids) implements PromptSource {}

  /** A prompt that has to be tokenised. */
  sealed interface Untokenized extends PromptSource {
    /** Whether the tokenizer's special tokens are put around the text. */
    boolean addSpecialTokens();

    /** The JSON body for an engine's {@code /tokenize}, in vLLM's form, which SGLang understands too. */
    String tokenizeRequest(String model);

    /** Index of the first message with a media item, -1 if there is none. */
    int firstItem();
  }

  /** A text. */
  record Text(String text, boolean addSpecialTokens) implements Untokenized {
    @Override
    public String tokenizeRequest(String model) {
      return JsonNodeFactory.instance.objectNode()
          .put("model", model)
          .put("prompt", text)
          .put("add_special_tokens", addSpecialTokens)
          .toString();
    }

    @Override
    public int firstItem() {
      return -1;
    }
  }

  /** A conversation, as a chat completion's body. */
  record Chat(ObjectNode body, boolean addSpecialTokens) implements Untokenized {
    @Override
    public String tokenizeRequest(String model) {
      ObjectNode request = body.objectNode().put("model", model);
      for (String field : new String[] {"messages", "tools", "chat_template_kwargs", "documents", "tool_choice"}) {
        if (body.hasNonNull(field)) {
          request.set(field, body.get(field));
        }
      }
      if (body.hasNonNull("reasoning_effort")) {
        ObjectNode kwargs = body.objectNode();
        kwargs.set("reasoning_effort", body.get("reasoning_effort"));
        if (body.get("chat_template_kwargs") instanceof ObjectNode given) {
          kwargs.setAll(given);
        }
        request.set("chat_template_kwargs", kwargs);
      }
      return request
          .put("add_generation_prompt", body.path("add_generation_prompt").asBoolean(true))
          .put("continue_final_message", body.path("continue_final_message").asBoolean(false))
          .put("add_special_tokens", addSpecialTokens)
          .toString();
    }

    @Override
    public int firstItem() {
      return PromptMedia.firstMessage(body);
    }
  }

  /** No prompt, or one whose tokens cannot be known. */
  record Unknown(PromptReason reason) implements PromptSource {}

  /** The prompt in a body of the given API. */
  static PromptSource of(Api api, JsonNode body) {
    if (!(body instanceof ObjectNode object)) {
      return new Unknown(PromptReason.UNREADABLE);
    }
    for (String field : new String[] {"truncate_prompt_tokens", "prompt_embeds", "suffix"}) {
      if (has(object, field)) {
        return new Unknown(PromptReason.ALTERED);
      }
    }
    return switch (api) {
      case CHAT -> object.path("input_ids").isArray() ? raw(object, "input_ids") : chat(object);
      case COMPLETIONS -> raw(object, "prompt");
      case EMBEDDINGS -> object.has("messages") ? embeddedChat(object) : raw(object, "input");
      case RESPONSES -> has(object, "previous_response_id") || has(object, "conversation")
          ? new Unknown(PromptReason.STORED_RESPONSE)
          : new Chat(ResponsesBody.chat(object), false);
      case MESSAGES -> new Chat(MessagesBody.chat(object), false);
    };
  }

  private static boolean has(ObjectNode body, String field) {
    return body.hasNonNull(field);
  }

  private static PromptSource chat(ObjectNode body) {
    if (!body.path("messages").isArray() || body.path("messages").isEmpty()) {
      return new Unknown(PromptReason.UNREADABLE);
    }
    return new Chat(body, body.path("add_special_tokens").asBoolean(false));
  }

  /** A conversation to embed, which has no generation prompt unless the request has one. */
  private static PromptSource embeddedChat(ObjectNode body) {
    if (body.has("add_generation_prompt")) {
      return chat(body);
    }
    ObjectNode copy = body.objectNode();
    copy.setAll(body);
    return chat(copy.put("add_generation_prompt", false));
  }

  /** A text or token ids; of a batch the first prompt, which engines compute first. */
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
