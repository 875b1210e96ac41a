package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.TemplateException;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What an engine finds out of a model's chat templates, by rendering short conversations, for what an Anthropic {@code
 * /v1/messages} request can say and a chat completion cannot; as {@code entrypoints/anthropic/serving.py} of vLLM and
 * of SGLang does. TensorRT-LLM looks for a word in them, for {@code /v1/responses}.
 *
 * @param mergesSystem whether system messages between others are moved into the first one: the template refuses them,
 *     or for SGLang, leaves them out
 * @param disabledEffort the reasoning effort that stands for thinking that is switched off; null where the engine does
 *     not read that, and where it is not known
 * @param reasoningParser what puts earlier thoughts back into the conversation; null where they are left out, and
 *     switches of thinking with them
 * @param developerAsSystem whether developers' messages become the system's, since the template does not have them
 */
public record MessagesRules(
    boolean mergesSystem, @Nullable String disabledEffort, @Nullable ReasoningParser reasoningParser,
    boolean developerAsSystem) {
  /** Those of a model whose templates are not known. */
  public static final MessagesRules UNKNOWN = new MessagesRules(false, null, null, false);

  /** Those that switch thinking on. */
  private static final List<String> EFFORTS = List.of("low", "medium", "high", "xhigh", "max");

  private static final String NONE = "none";

  /** A text that no template has of its own. */
  private static final String LATER = "kvasir-later-system-message";

  /**
   * Those of a model.
   *
   * @param chats renders chat completions as the engine does, which some models' are in a format of their own
   * @param engine whose rules they are
   * @param now the engine's local time
   */
  public static MessagesRules of(
      ChatTemplates templates, Function<ObjectNode, RenderedText> chats, EngineVersion engine,
      Supplier<LocalDateTime> now) {
    return switch (engine) {
      case VllmVersion version -> new MessagesRules(
          !VllmRule.INLINE_SYSTEM.holds(version)
              || withLaterSystem(() -> templates.selectOfProcessor(false), now) == null
              || withLaterSystem(() -> templates.selectOfProcessor(true), now) == null,
          VllmRule.MESSAGES_THINKING.holds(version) ? disabledEffort(chats) : null, null, false);
      case TensorRtVersion _ -> new MessagesRules(false, null, null, !templates.select(true).knowsDevelopers());
      case SglangVersion sglang -> {
        String rendered = withLaterSystem(() -> templates.select(false), now);
        String parser = sglang.reasoningParser();
        yield new MessagesRules(
            !SglangRule.INLINE_SYSTEM.holds(sglang) || rendered == null || !rendered.contains(LATER), null,
            parser == null ? null : ReasoningParser.of(parser, templates.select(false).source()), false);
      }
    };
  }

  /**
   * Those of a model that converses in the Harmony format, whose template is not at hand: it has system messages
   * between others, and no effort that is none.
   */
  public static MessagesRules ofHarmony(EngineVersion engine) {
    return engine instanceof VllmVersion version
        ? new MessagesRules(
            !VllmRule.INLINE_SYSTEM.holds(version),
            VllmRule.MESSAGES_THINKING.holds(version) ? EFFORTS.getFirst() : null, null, false)
        : UNKNOWN;
  }

  /** A conversation with a system message between others, null where it is refused. */
  private static @Nullable String withLaterSystem(Supplier<ChatTemplate> template, Supplier<LocalDateTime> now) {
    Map<String, Object> variables = new LinkedHashMap<>();
    variables.put(
        "messages",
        List.of(message("system", "t"), message("user", "t"), message("system", LATER), message("user", "t")));
    variables.put("add_generation_prompt", false);
    try {
      return template.get().renderPlainly(variables, now);
    } catch (TemplateException refused) {
      return null;
    }
  }

  private static Map<String, String> message(String role, String content) {
    return Map.of("role", role, "content", content);
  }

  /** None, unless the template refuses that or ignores it: it then renders what it does for an effort. */
  private static String disabledEffort(Function<ObjectNode, RenderedText> chats) {
    String none = probe(chats, NONE);
    boolean honoured = none != null && EFFORTS.stream().noneMatch(effort -> none.equals(probe(chats, effort)));
    return honoured ? NONE : EFFORTS.getFirst();
  }

  private static @Nullable String probe(Function<ObjectNode, RenderedText> chats, String effort) {
    ObjectNode chat = JsonNodeFactory.instance.objectNode().put("reasoning_effort", effort);
    chat.putArray("messages").addObject().put("role", "user").put("content", "Hi");
    try {
      return chats.apply(chat).toString();
    } catch (TemplateException refused) {
      return null;
    }
  }
}
