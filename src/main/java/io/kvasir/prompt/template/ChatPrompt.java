package io.kvasir.prompt.template;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.ConnectionThread;
import io.kvasir.time.NanoClock;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The rendering of chat requests to prompt texts, as the engine does it that they are for: as vLLM does it here, {@link
 * SglangChat} as SGLang, {@link TensorRtChat} as TensorRT-LLM. It selects the template, prepares its variables, renders
 * it and, for {@code continue_final_message}, removes what follows the last message. Immutable and thread-safe.
 *
 * <p>A template reads {@code messages}, {@code tools}, {@code documents}, {@code add_generation_prompt} (true unless
 * the request sets it), {@code reasoning_effort}, the special tokens, and {@code chat_template_kwargs}; the request's
 * own fields override its kwargs, and those override the server's defaults.
 */
public final class ChatPrompt {

  /**
   * A prompt's text.
   *
   * @param text the model's input text
   * @param media whether the prompt has images, audio or video besides the text
   */
  public record Rendered(RenderedText text, boolean media) {}

  private static final String CONTINUE_TAG = "CONTINUE_FINAL_MESSAGE_TAG ";

  private final ChatTemplates templates;

  private final Map<String, @Nullable Object> defaults;
  private final NanoClock clock;

  /**
   * The prompts of a model. Its own templates are rendered within {@link RenderLimits#ofModel}, those of requests
   * within {@link RenderLimits#ofRequest}.
   *
   * @param defaults kwargs of every request that does not set them: vLLM's {@code --default-chat-template-kwargs}
   * @param clock clock for the limits of time
   */
  public ChatPrompt(ChatTemplates templates, Map<String, ?> defaults, NanoClock clock) {
    this.templates = templates;
    this.defaults = new LinkedHashMap<>(defaults);
    this.clock = clock;
  }

  /**
   * Renders the prompt of a chat request.
   *
   * @param body a {@code /v1/chat/completions} request
   * @param engine the engine that it is for
   * @param now the engine's local time
   * @throws TemplateException.RefusedTemplate if the request's own template cannot be parsed or exceeds its limits
   * @throws TemplateException if the request or the template is at fault
   */
  public Rendered render(JsonNode body, EngineVersion engine, Supplier<LocalDateTime> now) {
    JsonNode messages = body.path("messages");
    if (!messages.isArray() || messages.isEmpty()) {
      throw new TemplateException.Request("messages must be a list with at least one message");
    }
    return switch (engine) {
      case VllmVersion version ->
          byTemplate(body, (template, budget) -> render(body, template, budget, version, now));
      case SglangVersion version -> new Rendered(
          new SglangChat(templates, defaults, version).render(body, modelBudget(body), now),
          VllmMessages.hasMedia(messages));
      case TensorRtVersion version -> {
        TensorRtChat chat = new TensorRtChat(templates, defaults, version);
        yield byTemplate(body, (template, budget) ->
            new Rendered(chat.render(body, template, budget, now), VllmMessages.hasMedia(messages)));
      }
    };
  }

  /** Renders by the template that the request names or brings, or by the model's own. */
  private Rendered byTemplate(JsonNode body, BiFunction<ChatTemplate, RenderBudget, Rendered> rendering) {
    String requested = RequestTemplate.of(body);
    if (requested == null) {
      return rendering.apply(templates.select(body.hasNonNull("tools")), modelBudget(body));
    }
    ChatTemplate named = templates.named().get(requested);
    if (named != null) {
      return rendering.apply(named, modelBudget(body));
    }
    // A client's template may compute for as long as its limits let it.
    ConnectionThread.leaveConnection();
    RenderBudget budget = new RenderBudget(RenderLimits.ofRequest(VllmMessages.textLength(body)), clock);
    try {
      return rendering.apply(ChatTemplate.parse(requested, budget), budget);
    } catch (TemplateException.Syntax | TemplateException.Limit e) {
      throw new TemplateException.RefusedTemplate("chat_template: " + e.getMessage());
    }
  }

  private RenderBudget modelBudget(JsonNode body) {
    return new RenderBudget(RenderLimits.ofModel(VllmMessages.textLength(body)), clock);
  }

  private Rendered render(JsonNode body, ChatTemplate template, RenderBudget budget, VllmVersion engine,
      Supplier<LocalDateTime> now) {
    JsonNode requestMessages = body.path("messages");
    List<@Nullable Object> tools = ToolSchema.tools(body.path("tools"), engine);
    boolean media = VllmMessages.hasMedia(requestMessages);
    List<Map<String, @Nullable Object>> messages =
        VllmMessages.prepare(requestMessages, template, engine);
    Map<String, @Nullable Object> variables = variables(body, messages, tools);
    if (!body.path("continue_final_message").asBoolean(false)) {
      RenderedText text = new RenderedText();
      template.render(variables, now, budget, text);
      return new Rendered(text, media);
    }
    if (Boolean.TRUE.equals(variables.get("add_generation_prompt"))) {
      throw new TemplateException.Request(
          "continue_final_message and add_generation_prompt cannot both be true: set add_generation_prompt to false");
    }
    String text = continued(template, variables, messages.getLast(), budget, now);
    return new Rendered(RenderedText.of(text), media);
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
      if (!body.path("chat_template_kwargs").has("enable_thinking")) {
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
        || new TextSearch(budget, Text.strip(text, null)).first(out, 0, out.length()) < 0) {
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
