package io.kvasir.prompt.chat;

import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ContentLoops;
import io.kvasir.prompt.template.ContentUse;

/**
 * The format of message contents that a template reads: one text, or the API's list of parts.
 *
 * <p>vLLM detects it from the template ({@code --chat-template-content-format auto}): a template with a loop over the
 * content of an element of {@code messages} reads parts, any other reads text. Versions differ: {@link VllmRule}.
 *
 * <p>SGLang looks for words of media in the template, and for a loop over the content of a message by its name.
 *
 * <p>TensorRT-LLM reads parts only of messages with media, where the template has a loop over the content of a message
 * ({@code inputs/content_format.py}).
 */
public enum ContentFormat {
  /** Text; the parts of a list are joined by newlines. */
  STRING,
  /** Parts: {@code [{"type": "text", "text": …}, …]}, also for a plain text. */
  OPENAI;

  /** That of a template, as this engine detects it. */
  public static ContentFormat of(ChatTemplate template, EngineVersion engine) {
    ContentUse use = template.contentUse();
    boolean parts = switch (engine) {
      case VllmVersion version -> isReadInParts(use, version);
      case SglangVersion _ -> use.ofMedia();
      case TensorRtVersion version -> use.inVariables().content() && TensorRtRule.MEDIA_PARTS.holds(version);
    };
    return parts ? OPENAI : STRING;
  }

  private static boolean isReadInParts(ContentUse use, VllmVersion version) {
    ContentLoops loops = VllmRule.NAMESPACE_MESSAGES.holds(version) ? use.inMembers() : use.inVariables();
    return VllmRule.MACRO_CONTENT.holds(version) ? loops.macro()
        : VllmRule.CONTENT_VARIABLE.holds(version) ? loops.variable() : loops.content();
  }
}
