package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.chat.VllmVersion;
import java.util.List;
import java.util.Set;
import java.util.function.BiFunction;

/** The prompt in a request's body, in the form in which the request has it. */
sealed interface PromptSource {
  /** A prompt in token ids. */
  record TokenIds(int[] ids) implements PromptSource {}

  /** A prompt that has to be tokenised. */
  sealed interface Untokenized extends PromptSource {
    /** Whether the tokenizer's special tokens are put around the text. */
    boolean addSpecialTokens();

    /**
     * The JSON body for an engine's {@code /tokenize}.
     *
     * @param kwargs the model's own template arguments: vLLM's {@code /tokenize} does not add them by itself
     * @param engine to which it is sent
     */
    String tokenizeRequest(String model, ObjectNode kwargs, EngineVersion engine);

    /** Index of the first message with a media item, -1 if there is none. */
    int firstItem();

    /**
     * Whether the body for {@code /tokenize} has all that decides on the prompt's tokens, so that a difference is one
     * of templates or tokenizers.
     */
    boolean isComparable();
  }

  /** A text. */
  record Text(String text, boolean addSpecialTokens) implements Untokenized {
    @Override
    public String tokenizeRequest(String model, ObjectNode kwargs, EngineVersion engine) {
      ObjectNode request = JsonNodeFactory.instance.objectNode().put("prompt", text);
      return switch (engine) {
        case VllmVersion _, SglangVersion _ ->
            request.put("model", model).put("add_special_tokens", addSpecialTokens).toString();
        // It knows no other member, and always adds them.
        case TensorRtVersion _ -> request.toString();
      };
    }

    @Override
    public int firstItem() {
      return -1;
    }

    @Override
    public boolean isComparable() {
      return true;
    }
  }

  /** A conversation, as a chat completion's body. */
  record Chat(ObjectNode body, boolean addSpecialTokens) implements Untokenized {
    private static final List<String> VLLM_FIELDS = List.of("messages", "tools", "chat_template");

    private static final List<String> SGLANG_FIELDS = List.of(
        "messages", "tools", "tool_choice", "reasoning", "reasoning_effort", "continue_final_message");

    /** Template arguments that renderers of engines do not take from requests, or each in its own way. */
    private static final Set<String> RESERVED_KWARGS =
        Set.of("chat_template", "tokenize", "messages", "conversation", "tools");

    @Override
    public String tokenizeRequest(String model, ObjectNode kwargs, EngineVersion engine) {
      return switch (engine) {
        // TensorRT-LLM's takes texts alone, and is not asked.
        case VllmVersion _, TensorRtVersion _ -> forVllm(model, kwargs);
        case SglangVersion _ -> forSglang(model, kwargs);
      };
    }

    /**
     * SGLang takes a chat completion's members, and renders as for one unless it is told whether an answer begins.
     */
    private String forSglang(String model, ObjectNode kwargs) {
      return withKwargs(request(model, SGLANG_FIELDS), kwargs(kwargs)).toString();
    }

    /**
     * vLLM's has no member for documents and the reasoning effort: they are passed as the template arguments into which
     * it turns them in a chat completion.
     */
    private String forVllm(String model, ObjectNode kwargs) {
      ObjectNode all = kwargs(kwargs);
      if (body.hasNonNull("documents")) {
        all.set("documents", body.get("documents"));
      }
      JsonNode effort = body.path("reasoning_effort");
      if (body.hasNonNull("reasoning_effort")) {
        all.set("reasoning_effort", effort);
        if (!body.path("chat_template_kwargs").has("enable_thinking")) {
          all.put("enable_thinking", !effort.asText().equals("none"));
        }
      }
      return withKwargs(request(model, VLLM_FIELDS), all)
          .put("add_generation_prompt", body.path("add_generation_prompt").asBoolean(true))
          .put("continue_final_message", body.path("continue_final_message").asBoolean(false))
          .put("add_special_tokens", addSpecialTokens)
          .toString();
    }

    private ObjectNode request(String model, List<String> fields) {
      ObjectNode request = body.objectNode().put("model", model);
      for (String field : fields) {
        if (body.hasNonNull(field)) {
          request.set(field, body.get(field));
        }
      }
      return request;
    }

    /** The model's own template arguments, and over them those of the conversation. */
    private ObjectNode kwargs(ObjectNode own) {
      ObjectNode all = body.objectNode().setAll(own);
      return body.get("chat_template_kwargs") instanceof ObjectNode given ? all.setAll(given) : all;
    }

    private static ObjectNode withKwargs(ObjectNode request, ObjectNode kwargs) {
      return kwargs.isEmpty() ? request : request.set("chat_template_kwargs", kwargs);
    }

    @Override
    public int firstItem() {
      return PromptMedia.firstMessage(body);
    }

    @Override
    public boolean isComparable() {
      // Whether tools are rendered that must not be called is an option of the engine.
      boolean toolsAtChoice =
          body.path("tool_choice").asText().equals("none") && !body.path("tools").isEmpty();
      JsonNode kwargs = body.path("chat_template_kwargs");
      return firstItem() < 0
          && !body.hasNonNull("chat_template")
          && !toolsAtChoice
          && RESERVED_KWARGS.stream().noneMatch(kwargs::has);
    }
  }

  /** No prompt, or one whose tokens cannot be known. */
  record Unknown(PromptReason reason) implements PromptSource {}

  /**
   * The prompt in a body of the given API.
   *
   * @param engine that reads it
   * @param conversation what the engine makes of the body of an API for conversations: a chat completion's
   */
  static PromptSource of(
      Api api, JsonNode body, EngineVersion engine, BiFunction<Api, ObjectNode, ObjectNode> conversation) {
    if (!(body instanceof ObjectNode object)) {
      return new Unknown(PromptReason.UNREADABLE);
    }
    for (String field : new String[] {"truncate_prompt_tokens", "prompt_embeds", "suffix", "previous_input_messages"}) {
      if (has(object, field)) {
        return new Unknown(PromptReason.ALTERED);
      }
    }
    if (readsNoCache(api, object)) {
      return new Unknown(PromptReason.CACHE_UNREAD);
    }
    return switch (api) {
      // Others take no notice of ids beside messages.
      case CHAT -> engine instanceof SglangVersion && object.path("input_ids").isArray()
          ? raw(object, "input_ids")
          : chat(object);
      case COMPLETIONS -> raw(object, "prompt");
      case EMBEDDINGS -> object.has("messages") ? embeddedChat(object) : raw(object, "input");
      case RESPONSES -> has(object, "previous_response_id") || has(object, "conversation")
          ? new Unknown(PromptReason.STORED_RESPONSE)
          : new Chat(conversation.apply(api, object), false);
      case MESSAGES -> new Chat(conversation.apply(api, object), false);
    };
  }

  /** Log-probabilities of the prompt: an echoed one has those that were asked for, in chats 0 unless told otherwise. */
  private static boolean readsNoCache(Api api, ObjectNode body) {
    boolean echoed = body.path("echo").asBoolean(false) && (api == Api.CHAT || has(body, "logprobs"));
    return echoed || has(body, "prompt_logprobs");
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
      if (!EngineTokenizer.isTokenId(prompt.get(i))) {
        return new Unknown(PromptReason.UNREADABLE);
      }
      ids[i] = (int) prompt.get(i).longValue();
    }
    return new TokenIds(ids);
  }
}
