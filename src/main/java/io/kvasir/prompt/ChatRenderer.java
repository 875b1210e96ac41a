package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.ChatPrompt;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.ContentFormat;
import io.kvasir.prompt.template.EngineVersion;
import io.kvasir.prompt.template.MessagesRules;
import io.kvasir.prompt.template.Preparation;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.SglangVersion;
import io.kvasir.prompt.template.VllmVersion;
import io.kvasir.time.NanoClock;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** The renderer of a model's chat template: from a chat completion's body to the model's input text. Thread-safe. */
final class ChatRenderer {
  /** A conversation is rendered once for each. */
  private static final int MAX_PREPARATIONS = 4;

  private final ChatTemplates templates;
  private final ChatPrompt prompt;
  private final Supplier<LocalDateTime> now;
  private final Map<EngineVersion, MessagesRules> messagesRules = new ConcurrentHashMap<>();

  /** Those that prepare conversations differently, that of most engines first; never empty. */
  private volatile List<EngineVersion> engines = List.of(VllmVersion.NEWEST);

  ChatRenderer(ChatTemplates templates, Map<String, Object> kwargs, Supplier<LocalDateTime> now, NanoClock nanos) {
    this.templates = templates;
    this.prompt = new ChatPrompt(templates, kwargs, nanos);
    this.now = now;
  }

  /** The model's chat templates. */
  ChatTemplates templates() {
    return templates;
  }

  /** The engines as which conversations are prepared: each in another way, that of most engines first. */
  List<EngineVersion> engines() {
    return engines;
  }

  /**
   * Prepares conversations from now on as engines of these versions do; returns whether those are others.
   *
   * @param versions that of most engines first; not empty
   */
  boolean engines(List<EngineVersion> versions) {
    SequencedMap<Preparation, EngineVersion> first = new LinkedHashMap<>();
    versions.forEach(version -> first.putIfAbsent(Preparation.of(version), version));
    List<EngineVersion> different = first.values().stream().limit(MAX_PREPARATIONS).toList();
    boolean changed = !different.equals(engines);
    engines = different;
    messagesRules.keySet().retainAll(different);
    return changed;
  }

  /** A {@code /v1/messages} body as the chat completion that an engine makes of it. */
  ObjectNode messages(ObjectNode body, EngineVersion engine) {
    MessagesRules rules =
        messagesRules.computeIfAbsent(engine, version -> MessagesRules.of(templates, prompt, version, now));
    return switch (engine) {
      case VllmVersion _ -> MessagesBody.chat(body, rules);
      case SglangVersion _ -> SglangMessagesBody.chat(body, rules);
    };
  }

  /** The text of {@code chat} for an engine; throws {@code TemplateException} when the template refuses it or fails. */
  RenderedText render(ObjectNode chat, EngineVersion engine) {
    return prompt.render(chat, engine, now).text();
  }

  /** The text of {@code chat} before its first media item, which is in message {@code message}. */
  RenderedText renderUpToItem(ObjectNode chat, int message, EngineVersion engine) {
    ContentFormat format = templates.select(chat.hasNonNull("tools")).contentFormat(engine);
    RenderedText marked = render(PromptMedia.marked(chat, message, format == ContentFormat.OPENAI), engine);
    return RenderedText.of(PromptMedia.upToMark(marked.toString()));
  }
}
