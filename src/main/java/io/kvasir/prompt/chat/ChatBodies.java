package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** Bodies of other APIs as the chat completions that an engine makes of them; the bodies are not changed. */
public final class ChatBodies {
  private ChatBodies() {}

  /** That of an Anthropic {@code /v1/messages} body, by what the engine finds out of the model's templates. */
  public static ObjectNode ofMessages(ObjectNode body, EngineVersion engine, MessagesRules rules) {
    return switch (engine) {
      case VllmVersion version -> VllmMessagesBody.chat(body, version, rules);
      case SglangVersion version -> SglangMessagesBody.chat(body, version, rules);
      case TensorRtVersion _ -> TensorRtMessagesBody.chat(body);
    };
  }

  /** The same as an engine can be sent it: with URLs of its images, whose bytes no prompt needs. */
  public static ObjectNode withImageUrls(ObjectNode chat, EngineVersion engine) {
    ImageSources.toUrls(chat, engine);
    return chat;
  }

  /** That of a {@code /v1/responses} body. */
  public static ObjectNode ofResponses(ObjectNode body, EngineVersion engine, MessagesRules rules) {
    return switch (engine) {
      case VllmVersion version -> VllmResponsesBody.chat(body, version);
      case SglangVersion version ->
          version.disaggregated() && !SglangRule.RESPONSES_SPLIT.holds(version)
              ? TranslatedResponsesBody.chat(body)
              : SglangResponsesBody.chat(body, version, !rules.mergesSystem());
      case TensorRtVersion version ->
          version.disaggregated()
              ? TranslatedResponsesBody.chat(body)
              : TensorRtResponsesBody.chat(body, version, rules.developerAsSystem());
    };
  }

  /** That of a {@code /v1/responses} body for an engine that is sent it as a chat completion. */
  public static ObjectNode ofTranslatedResponses(ObjectNode body) {
    return TranslatedResponsesBody.chat(body);
  }
}
