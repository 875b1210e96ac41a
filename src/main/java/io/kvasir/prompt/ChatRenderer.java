package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.ChatPrompt;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.ContentFormat;
import io.kvasir.prompt.template.EngineVersion;
import io.kvasir.prompt.template.MessagesRules;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.SglangVersion;
import io.kvasir.prompt.template.VllmVersion;
import io.kvasir.time.NanoClock;
import java.time.LocalDateTime;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The renderer of a model's chat template: from a chat completion's body to the model's input text. Thread-safe. */
final class ChatRenderer {
  private final ChatTemplates templates;
  private final ChatPrompt prompt;
  private final Supplier<LocalDateTime> now;
  private volatile EngineVersion engine = VllmVersion.NEWEST;

  private volatile @Nullable FoundRules messagesRules;

  /** Rules with the engine that finds them out so: it may change while they are looked for. */
  private record FoundRules(EngineVersion engine, MessagesRules rules) {}

  ChatRenderer(ChatTemplates templates, Map<String, Object> kwargs, Supplier<LocalDateTime> now, NanoClock nanos) {
    this.templates = templates;
    this.prompt = new ChatPrompt(templates, kwargs, nanos);
    this.now = now;
  }

  /** The model's chat templates. */
  ChatTemplates templates() {
    return templates;
  }

  /** The engine as which conversations are prepared. */
  EngineVersion engine() {
    return engine;
  }

  /** Prepares conversations from now on as engines of this version do; returns whether that is another one. */
  boolean engine(EngineVersion version) {
    boolean changed = !version.equals(engine);
    engine = version;
    return changed;
  }

  /** A {@code /v1/messages} body as the chat completion that the engine makes of it. */
  ObjectNode messages(ObjectNode body) {
    EngineVersion version = engine;
    MessagesRules rules = messagesRules(version);
    return switch (version) {
      case VllmVersion _ -> MessagesBody.chat(body, rules);
      case SglangVersion _ -> SglangMessagesBody.chat(body, rules);
    };
  }

  /** What the engine finds out of the templates for {@code /v1/messages}. */
  private MessagesRules messagesRules(EngineVersion version) {
    FoundRules known = messagesRules;
    if (known == null || !known.engine.equals(version)) {
      known = new FoundRules(version, MessagesRules.of(templates, prompt, version, now));
      messagesRules = known;
    }
    return known.rules;
  }

  /** The text of {@code chat}; throws {@code TemplateException} when the template refuses it or fails. */
  RenderedText render(ObjectNode chat) {
    return prompt.render(chat, engine, now).text();
  }

  /** The text of {@code chat} before its first media item, which is in message {@code message}. */
  RenderedText renderUpToItem(ObjectNode chat, int message) {
    ContentFormat format = templates.select(chat.hasNonNull("tools")).contentFormat(engine);
    RenderedText marked = render(PromptMedia.marked(chat, message, format == ContentFormat.OPENAI));
    return RenderedText.of(PromptMedia.upToMark(marked.toString()));
  }
}
