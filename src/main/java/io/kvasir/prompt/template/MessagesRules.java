package io.kvasir.prompt.template;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What an engine finds out of a model's chat templates, by rendering short conversations, for what an Anthropic {@code
 * /v1/messages} request can say and a chat completion cannot; as vLLM's {@code entrypoints/anthropic/serving.py} does.
 *
 * @param mergesSystem whether system messages between others are moved into the first one: the template refuses them
 * @param disabledEffort the reasoning effort that stands for thinking that is switched off; null where the engine does
 *     not read that, and where it is not known
 */
public record MessagesRules(boolean mergesSystem, @Nullable String disabledEffort) {
  /** Those of a model whose templates are not known. */
  public static final MessagesRules UNKNOWN = new MessagesRules(false, null);

  /** Those that switch thinking on. */
  private static final List<String> EFFORTS = List.of("low", "medium", "high", "xhigh", "max");

  private static final String NONE = "none";

  /**
   * Those of a model.
   *
   * @param prompt of these templates
   * @param engine the version of the engine
   * @param now the engine's local time
   */
  public static MessagesRules of(
      ChatTemplates templates, ChatPrompt prompt, VllmVersion engine, Supplier<LocalDateTime> now) {
    return new MessagesRules(
        refusesLaterSystem(templates, false, now) || refusesLaterSystem(templates, true, now),
        VllmRule.DISABLED_THINKING.holds(engine) ? disabledEffort(prompt, engine, now) : null);
  }

  /** Rendered as by plain Jinja, which has none of the functions that chat templates are given otherwise. */
  private static boolean refusesLaterSystem(
      ChatTemplates templates, boolean hasTools, Supplier<LocalDateTime> now) {
    Map<String, Object> variables = new LinkedHashMap<>();
    variables.put(
        "messages",
        List.of(message("system"), message("user"), message("system"), message("user")));
    variables.put("add_generation_prompt", false);
    for (String function : List.of("raise_exception", "strftime_now")) {
      variables.put(function, Undefined.variable(function));
    }
    try {
      String _ = templates.select(hasTools).render(variables, now);
      return false;
    } catch (TemplateException refused) {
      return true;
    }
  }

  private static Map<String, String> message(String role) {
    return Map.of("role", role, "content", "t");
  }

  /** None, unless the template refuses that or ignores it: it then renders what it does for an effort. */
  private static String disabledEffort(ChatPrompt prompt, VllmVersion engine, Supplier<LocalDateTime> now) {
    String none = probe(prompt, NONE, engine, now);
    boolean honoured =
        none != null && EFFORTS.stream().noneMatch(effort -> none.equals(probe(prompt, effort, engine, now)));
    return honoured ? NONE : EFFORTS.getFirst();
  }

  private static @Nullable String probe(
      ChatPrompt prompt, String effort, VllmVersion engine, Supplier<LocalDateTime> now) {
    ObjectNode chat = JsonNodeFactory.instance.objectNode().put("reasoning_effort", effort);
    chat.putArray("messages").addObject().put("role", "user").put("content", "Hi");
    try {
      return prompt.render(chat, engine, now).text().toString();
    } catch (TemplateException refused) {
      return null;
    }
  }
}
