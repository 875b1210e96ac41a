package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.ConnectionThread;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.RenderBudget;
import io.kvasir.prompt.template.RenderLimits;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.RequestTemplate;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.time.NanoClock;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The rendering of chat requests to prompt texts, as the engine does it that they are for: {@link VllmChat}, {@link
 * SglangChat}, {@link TensorRtChat}. Immutable and thread-safe.
 */
public final class TemplateRenderer {
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
  public TemplateRenderer(ChatTemplates templates, Map<String, ?> defaults, NanoClock clock) {
    this.templates = templates;
    this.defaults = new LinkedHashMap<>(defaults);
    this.clock = clock;
  }

  /**
   * Renders the prompt of a chat request to the model's input text.
   *
   * @param body a {@code /v1/chat/completions} request
   * @param engine the engine that it is for
   * @param now the engine's local time
   * @throws TemplateException.RefusedTemplate if the request's own template cannot be parsed or exceeds its limits
   * @throws TemplateException if the request or the template is at fault
   */
  public RenderedText render(JsonNode body, EngineVersion engine, Supplier<LocalDateTime> now) {
    JsonNode messages = body.path("messages");
    if (!messages.isArray() || messages.isEmpty()) {
      throw new TemplateException.Request("messages must be a list with at least one message");
    }
    return switch (engine) {
      case VllmVersion version -> {
        VllmChat chat = new VllmChat(templates, defaults, version);
        yield byTemplate(body, version, (template, budget) -> chat.render(body, template, budget, now));
      }
      case SglangVersion version ->
          new SglangChat(templates, defaults, version).render(body, modelBudget(body), now);
      case TensorRtVersion version -> {
        TensorRtChat chat = new TensorRtChat(templates, defaults, version);
        yield byTemplate(body, version, (template, budget) -> chat.render(body, template, budget, now));
      }
    };
  }

  /** The model's own template for a request, as an engine selects it. */
  public static ChatTemplate template(ChatTemplates templates, boolean hasTools, EngineVersion engine) {
    return engine instanceof VllmVersion ? templates.selectOfProcessor(hasTools) : templates.select(hasTools);
  }

  /** Renders by the template that the request names or brings, or by the model's own. SGLang reads none of requests. */
  private RenderedText byTemplate(
      JsonNode body, EngineVersion engine, BiFunction<ChatTemplate, RenderBudget, RenderedText> rendering) {
    String requested = RequestTemplate.of(body);
    if (requested == null) {
      return rendering.apply(template(templates, body.hasNonNull("tools"), engine), modelBudget(body));
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
}
