package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.JsonValues;
import io.kvasir.prompt.template.RenderBudget;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.template.Text;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The rendering of chat requests to prompt texts, as SGLang does it. A request's own template and its {@code
 * add_generation_prompt} are not read: an answer always begins. A last message of the assistant's is what the answer
 * goes on from with {@code continue_final_message}, and a user's otherwise. Tools that a template cannot read are given
 * to it once more as functions alone.
 *
 * <p>Source: SGLang {@code srt/entrypoints/openai/serving_chat.py}, and {@code protocol.py} for the reasoning effort.
 */
final class SglangChat {
  private static final Set<String> TIERS =
      Set.of("none", "minimal", "low", "medium", "high", "xhigh", "ultra", "max");
  private static final String EFFORT = "reasoning_effort";

  /** Words of templates that have a switch for little effort. */
  private static final List<String> LOW_EFFORT = List.of("low_effort", "truncate_history_thinking");

  private static final Set<String> ON = Set.of("1", "true", "yes", "y", "on");

  private final ChatTemplates templates;
  private final Map<String, @Nullable Object> defaults;
  private final SglangVersion version;

  SglangChat(ChatTemplates templates, Map<String, @Nullable Object> defaults, SglangVersion version) {
    this.templates = templates;
    this.defaults = defaults;
    this.version = version;
  }

  RenderedText render(JsonNode body, RenderBudget budget, Supplier<LocalDateTime> now) {
    List<@Nullable Object> tools = SglangTools.chosen(body, version);
    ChatTemplate template = templates.select(tools != null);
    List<Map<String, @Nullable Object>> messages =
        SglangMessages.prepare(body.path("messages"), template, version);
    String opening = opening(messages, body.path("continue_final_message").asBoolean(false));
    Map<String, @Nullable Object> variables = variables(body, template);
    variables.put("messages", messages);
    variables.put("tools", tools);
    variables.put("add_generation_prompt", true);
    RenderedText text = render(template, variables, tools, budget, now);
    return opening.isEmpty() ? text : RenderedText.of(text + opening);
  }

  private static RenderedText render(ChatTemplate template, Map<String, @Nullable Object> variables,
      @Nullable List<@Nullable Object> tools, RenderBudget budget, Supplier<LocalDateTime> now) {
    RenderedText text = new RenderedText();
    try {
      template.render(variables, now, budget, text);
      return text;
    } catch (TemplateException.Limit tooMuch) {
      throw tooMuch;
    } catch (TemplateException failed) {
      if (tools == null) {
        throw failed;
      }
    }
    variables.put("tools", SglangTools.functions(tools));
    RenderedText again = new RenderedText();
    template.render(variables, now, budget, again);
    return again;
  }

  /** Takes the beginning of the answer from the messages; it is empty where there is none. */
  private static String opening(List<Map<String, @Nullable Object>> messages, boolean continued) {
    Map<String, @Nullable Object> last = messages.getLast();
    if (!"assistant".equals(last.get("role")) || !(last.get("content") instanceof String text)) {
      return "";
    }
    messages.removeLast();
    if (continued) {
      return text;
    }
    Map<String, @Nullable Object> user = new LinkedHashMap<>();
    user.put("role", "user");
    user.put("content", text);
    messages.add(user);
    return "";
  }

  private Map<String, @Nullable Object> variables(JsonNode body, ChatTemplate template) {
    Map<String, @Nullable Object> kwargs = new LinkedHashMap<>(defaults);
    kwargs.putAll(JsonValues.map(body.path("chat_template_kwargs")));
    Object given = kwargs.remove(EFFORT);
    Object effort = effort(body);
    Boolean thinking = thinking(body, effort);
    if (thinking != null) {
      for (String name : List.of("thinking", "enable_thinking")) {
        if (!body.path("chat_template_kwargs").has(name)) {
          kwargs.put(name, thinking);
        }
      }
    }
    Map<String, @Nullable Object> variables = new LinkedHashMap<>(templates.specialTokens());
    variables.put("documents", null);
    variables.putAll(kwargs);
    // The server's own is one of the template's arguments, which come before what the request has.
    Object told = defaults.get(EFFORT) != null ? defaults.get(EFFORT) : given != null ? given : effort;
    if (told != null) {
      variables.put(EFFORT, told);
    }
    if ("low".equals(told) && SglangRule.LOW_EFFORT.holds(version)
        && LOW_EFFORT.stream().allMatch(template.source()::contains)) {
      variables.putIfAbsent("low_effort", true);
    }
    return variables;
  }

  private @Nullable Boolean thinking(JsonNode body, @Nullable Object effort) {
    boolean none = "none".equals(effort);
    if (none || (effort != null && SglangRule.EFFORT_SWITCHES_THINKING.holds(version))) {
      return !none;
    }
    return isOn(body.path("reasoning")) ? true : null;
  }

  /** A tier or a share; what is said of reasoning comes before the member of its own. */
  private static @Nullable Object effort(JsonNode body) {
    JsonNode reasoning = body.path("reasoning");
    JsonNode told = reasoning.hasNonNull("effort") ? reasoning.get("effort") : reasoning.path(EFFORT);
    if (!told.isTextual() && !told.isNumber()) {
      told = body.path(EFFORT);
    }
    if (told.isNumber()) {
      return told.doubleValue();
    }
    if (!told.isTextual() || TIERS.contains(told.textValue())) {
      return told.textValue();
    }
    try {
      return Double.parseDouble(told.textValue());
    } catch (NumberFormatException e) {
      throw new TemplateException.Request("reasoning_effort must be one of " + TIERS.stream().sorted().toList()
          + " or a number");
    }
  }

  private static boolean isOn(JsonNode reasoning) {
    JsonNode enabled = reasoning.hasNonNull("enabled") ? reasoning.get("enabled") : reasoning.path("enable");
    return enabled.isTextual() ? ON.contains(Text.lower(Text.strip(enabled.textValue())))
        : enabled.asBoolean(false);
  }
}
