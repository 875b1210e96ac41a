package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.JsonValues;
import io.kvasir.prompt.template.RenderBudget;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.template.Text;
import io.kvasir.prompt.template.TextSearch;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The rendering of chat requests to prompt texts, as vLLM does it.
 *
 * <p>A template reads {@code messages}, {@code tools}, {@code documents}, {@code add_generation_prompt} (true unless
 * the request sets it), {@code reasoning_effort}, the special tokens, and {@code chat_template_kwargs}; the request's
 * own fields override its kwargs, and those override the server's defaults. For {@code continue_final_message} what
 * follows the last message is removed.
 *
 * <p>Source: vLLM {@code renderers/hf.py} and {@code entrypoints/openai/chat_completion/protocol.py}; {@code
 * transformers} for continued messages.
 */
final class VllmChat {
  private static final String CONTINUE_TAG = "CONTINUE_FINAL_MESSAGE_TAG ";

  private final ChatTemplates templates;
  private final Map<String, @Nullable Object> defaults;
  private final VllmVersion version;

  VllmChat(ChatTemplates templates, Map<String, @Nullable Object> defaults, VllmVersion version) {
    this.templates = templates;
    this.defaults = defaults;
    this.version = version;
  }

  RenderedText render(JsonNode body, ChatTemplate template, RenderBudget budget, Supplier<LocalDateTime> now) {
    List<@Nullable Object> tools = VllmTools.tools(body.path("tools"), version);
    List<Map<String, @Nullable Object>> messages =
        VllmMessages.prepare(body.path("messages"), template, version);
    Map<String, @Nullable Object> variables = variables(body, messages, tools);
    if (!body.path("continue_final_message").asBoolean(false)) {
      RenderedText text = new RenderedText();
      template.render(variables, now, budget, text);
      return text;
    }
    if (Boolean.TRUE.equals(variables.get("add_generation_prompt"))) {
      throw new TemplateException.Request(
          "continue_final_message and add_generation_prompt cannot both be true: set add_generation_prompt to false");
    }
    String text = continued(template, variables, messages.getLast(), budget, now);
    return RenderedText.of(text);
  }

  private Map<String, @Nullable Object> variables(JsonNode body, List<Map<String, @Nullable Object>> messages,
      @Nullable List<@Nullable Object> tools) {
    Map<String, @Nullable Object> variables = new LinkedHashMap<>(templates.specialTokens());
    variables.put("tools", tools);
    variables.put("documents", null);
    variables.putAll(defaults);
    variables.putAll(JsonValues.map(body.path("chat_template_kwargs")));
    Object documents = JsonValues.of(body.get("documents"));
    if (documents != null) {
      variables.put("documents", documents);
    }
    Object effort = JsonValues.of(body.get("reasoning_effort"));
    if (effort != null) {
      variables.put("reasoning_effort", effort);
      if (VllmRule.EFFORT_SWITCHES_THINKING.holds(version)
          && !body.path("chat_template_kwargs").has("enable_thinking")) {
        variables.put("enable_thinking", !effort.equals("none"));
      }
    }
    variables.put("add_generation_prompt", body.path("add_generation_prompt").asBoolean(true));
    variables.put("messages", messages);
    return variables;
  }

  /**
   * Marks the end of the last message, renders, and cuts at the mark; if the template trimmed the message, the text
   * is trimmed too.
   */
  private String continued(ChatTemplate template, Map<String, @Nullable Object> variables,
      Map<String, @Nullable Object> last, RenderBudget budget, Supplier<LocalDateTime> now) {
    String text = mark(last);
    RenderedText rendered = new RenderedText();
    template.render(variables, now, budget, rendered);
    String out = rendered.toString();
    int at = out.lastIndexOf(CONTINUE_TAG.strip());
    if (at < 0
        || new TextSearch(budget, Text.strip(text)).first(out, 0, out.length()) < 0) {
      throw new TemplateException.Request(
          "continue_final_message is set, but the chat template does not print the final message as it is");
    }
    boolean exact = out.indexOf(CONTINUE_TAG, at) == at;
    String cut = out.substring(0, at);
    return exact ? cut : Text.strip(cut, null, false, true);
  }

  /** Appends the mark to the message's text, or to the last text among its parts; returns the text before. */
  private static String mark(Map<String, @Nullable Object> message) {
    Object content = message.get("content");
    if (content instanceof String text) {
      message.put("content", text + CONTINUE_TAG);
      return text;
    }
    if (content instanceof List<?> parts) {
      for (Object part : parts.reversed()) {
        if (part instanceof Map<?, ?> map && map.get("text") instanceof String text) {
          @SuppressWarnings("unchecked") // Made from JSON a moment ago: its keys are strings.
          Map<String, @Nullable Object> own = (Map<String, @Nullable Object>) map;
          own.put("text", text + CONTINUE_TAG);
          return text;
        }
      }
    }
    throw new TemplateException.Request("continue_final_message is set, but the final message has no text");
  }
}
