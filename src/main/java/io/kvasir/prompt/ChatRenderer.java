package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.chat.ChatBodies;
import io.kvasir.prompt.chat.ContentFormat;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.MessagesRules;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.TemplateRenderer;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.chat.VllmRule;
import io.kvasir.prompt.chat.VllmVersion;
import io.kvasir.prompt.harmony.Harmony;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.time.NanoClock;
import java.time.LocalDateTime;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The renderer of a model's conversations, by its chat template or in the Harmony format: from a chat completion's body
 * to the model's input text. Thread-safe.
 */
final class ChatRenderer {
  private static final int MAX_RULES = 16;

  private final @Nullable ChatTemplates templates;
  private final boolean harmony;
  private final @Nullable String startDate;
  private final @Nullable TemplateRenderer byTemplate;
  private final Supplier<LocalDateTime> now;

  /** Of engines that there were lately, too. */
  private final Map<EngineVersion, MessagesRules> messagesRules = new ConcurrentHashMap<>();

  /**
   * A renderer.
   *
   * @param templates null when the model has none
   * @param harmony whether engines but SGLang render conversations in the Harmony format instead of by the model's chat
   *     template
   */
  ChatRenderer(
      @Nullable ChatTemplates templates, boolean harmony, Map<String, Object> kwargs, Supplier<LocalDateTime> now,
      NanoClock nanos) {
    this.templates = templates;
    this.harmony = harmony;
    this.startDate = kwargs.get(Harmony.START_DATE) instanceof String date ? date : null;
    this.byTemplate = templates == null ? null : new TemplateRenderer(templates, kwargs, nanos);
    this.now = now;
  }

  /** The model's chat templates, null when it has none. */
  @Nullable ChatTemplates templates() {
    return templates;
  }

  /** A body of {@code /v1/messages} or {@code /v1/responses} as the chat completion that an engine makes of it. */
  ObjectNode chat(Api api, ObjectNode body, EngineVersion engine) {
    ObjectNode formatted = harmony && api == Api.RESPONSES ? Harmony.ofResponses(body, engine, date()) : null;
    return formatted == null ? chat(api, body, engine, rules(engine)) : formatted;
  }

  /** The same by rules that the engine finds out of its templates. */
  static ObjectNode chat(Api api, ObjectNode body, EngineVersion engine, MessagesRules rules) {
    return api == Api.RESPONSES
        ? ChatBodies.ofResponses(body, engine, rules)
        : ChatBodies.ofMessages(body, engine, rules);
  }

  private String date() {
    return startDate == null ? now.get().toLocalDate().toString() : startDate;
  }

  private boolean isHarmony(EngineVersion engine) {
    return harmony && Harmony.isOf(engine);
  }

  /** Whether the model converses in the Harmony format with some engines, which others render by its template. */
  boolean isHarmony() {
    return harmony;
  }

  /**
   * Whether an engine's {@code /tokenize} makes the tokens of a conversation that it reads to answer it: vLLM's renders
   * the chat template of models in the Harmony format, too, and since 0.33 the format, but never with an effort;
   * SGLang's always the template, but for {@code /v1/responses} it reads the format. TensorRT-LLM's takes texts alone.
   */
  boolean isTokenizedAlike(ObjectNode chat, EngineVersion engine) {
    return switch (engine) {
      case VllmVersion vllm ->
          !harmony || (VllmRule.HARMONY_TOKENIZED.holds(vllm) && !chat.hasNonNull("reasoning_effort"));
      case SglangVersion _ -> !hasHarmonyMessages(chat);
      case TensorRtVersion _ -> false;
    };
  }

  /** Whether a conversation for an engine is rendered here. */
  boolean renders(ObjectNode chat, EngineVersion engine) {
    return byTemplate != null || isHarmony(engine) || hasHarmonyMessages(chat);
  }

  private boolean hasHarmonyMessages(ObjectNode chat) {
    return harmony && Harmony.isIn(chat);
  }

  private MessagesRules rules(EngineVersion engine) {
    ChatTemplates ofModel = templates;
    if (ofModel == null) {
      return harmony ? MessagesRules.ofHarmony(engine) : MessagesRules.UNKNOWN;
    }
    MessagesRules known = messagesRules.get(engine);
    if (known != null) {
      return known;
    }
    if (messagesRules.size() >= MAX_RULES) {
      messagesRules.clear();
    }
    return messagesRules.computeIfAbsent(
        engine, version -> MessagesRules.of(ofModel, chat -> render(chat, version), version, now));
  }

  /**
   * The text of {@code chat} for an engine for which this {@link #renders}; throws {@code TemplateException} when the
   * engine or the template refuses it, or the template fails.
   */
  RenderedText render(ObjectNode chat, EngineVersion engine) {
    return isHarmony(engine) || hasHarmonyMessages(chat)
        ? Harmony.render(chat, engine, date())
        : Objects.requireNonNull(byTemplate).render(chat, engine, now);
  }

  /** The text of {@code chat} before its first media item, which is in message {@code message}. */
  RenderedText renderUpToItem(ObjectNode chat, int message, EngineVersion engine) {
    if (isHarmony(engine)) {
      // It leaves items out.
      return render(chat, engine);
    }
    ContentFormat format =
        ContentFormat.of(
            TemplateRenderer.template(Objects.requireNonNull(templates), chat.hasNonNull("tools"), engine), engine);
    RenderedText marked = render(PromptMedia.marked(chat, message, format == ContentFormat.OPENAI), engine);
    return RenderedText.of(PromptMedia.upToMark(marked.toString()));
  }
}
