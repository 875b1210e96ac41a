package io.kvasir.prompt.template;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The format of message contents that a template reads: one text, or the API's list of parts.
 *
 * <p>vLLM detects it from the template ({@code --chat-template-content-format auto}): a template with a loop over the
 * content of an element of {@code messages} reads parts, any other reads text. The detection follows assignments,
 * filters, tests and slices, and arguments of macros; it ignores scopes. Versions differ: {@link VllmRule}.
 *
 * <p>SGLang looks for words of media in the template, and for a loop over the content of {@code message}, {@code msg}
 * or {@code m}.
 *
 * <p>TensorRT-LLM reads parts only of messages with media, where the template has a loop over the content of a message.
 *
 * <p>Source: vLLM {@code renderers/hf.py} (formerly {@code entrypoints/chat_utils.py}); SGLang {@code
 * srt/parser/jinja_template_utils.py}; TensorRT-LLM {@code inputs/content_format.py}.
 */
public enum ContentFormat {
  /** Text; the parts of a list are joined by newlines. */
  STRING,
  /** Parts: {@code [{"type": "text", "text": …}, …]}, also for a plain text. */
  OPENAI;

  /** Words in a template by which SGLang takes it for one that reads parts. */
  private static final List<String> MEDIA = List.of("image", "audio", "video", "vision");

  /** Names under which SGLang looks for a message. */
  private static final Set<String> MESSAGE_NAMES = Set.of("message", "msg", "m");

  /**
   * The formats that engines detect in one template.
   *
   * @param variables what is found when messages are looked for in variables
   * @param members what is found when they are looked for in members of namespaces, too
   * @param sglang whether SGLang finds that it reads parts
   */
  record Detected(ContentLoops variables, ContentLoops members, boolean sglang) {
    ContentFormat by(EngineVersion engine) {
      return switch (engine) {
        case VllmVersion version -> by(version);
        case SglangVersion _ -> sglang ? OPENAI : STRING;
        case TensorRtVersion version ->
            variables.content() && TensorRtRule.MEDIA_PARTS.holds(version) ? OPENAI : STRING;
      };
    }

    private ContentFormat by(VllmVersion version) {
      ContentLoops loops = VllmRule.NAMESPACE_MESSAGES.holds(version) ? members : variables;
      boolean parts = VllmRule.MACRO_CONTENT.holds(version) ? loops.macro()
          : VllmRule.CONTENT_VARIABLE.holds(version) ? loops.variable() : loops.content();
      return parts ? OPENAI : STRING;
    }
  }

  static Detected of(String source, Stmt.Block root) {
    Statements statements = Statements.of(root);
    ContentLoops variables = in(statements, MessageLists.inVariables(statements.sets()));
    // The two differ only where a namespace has something of the messages, which is rare.
    Set<String> members = MessageLists.inMembers(statements.sets());
    boolean sglang = MEDIA.stream().anyMatch(source::contains)
        || statements.loops().stream().anyMatch(loop -> ContentLoops.isContent(loop.elements(), MESSAGE_NAMES));
    return new Detected(variables, in(statements, members), sglang);
  }

  private static ContentLoops in(Statements statements, @Nullable Set<String> lists) {
    return lists == null ? ContentLoops.NONE : ContentLoops.of(statements, lists);
  }
}
