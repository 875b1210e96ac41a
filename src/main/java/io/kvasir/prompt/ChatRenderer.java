package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.ChatPrompt;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.ContentFormat;
import io.kvasir.time.NanoClock;
import java.time.LocalDateTime;
import java.util.Map;
import java.util.function.Supplier;

/** The renderer of a model's chat template: from a chat completion's body to the model's input text. Thread-safe. */
final class ChatRenderer {
  private final ChatTemplates templates;
  private final ChatPrompt prompt;
  private final Supplier<LocalDateTime> now;

  ChatRenderer(ChatTemplates templates, Map<String, Object> kwargs, Supplier<LocalDateTime> now, NanoClock nanos) {
    this.templates = templates;
    this.prompt = new ChatPrompt(templates, kwargs, nanos);
    this.now = now;
  }

  /** The model's chat templates. */
  ChatTemplates templates() {
    return templates;
  }

  /** The text of {@code chat}; throws {@code TemplateException} when the template refuses it or fails. */
  String render(ObjectNode chat) {
    return prompt.render(chat, now).text();
  }

  /** The text of {@code chat} before its first media item, which is in message {@code message}. */
  String renderUpToItem(ObjectNode chat, int message) {
    ContentFormat format = templates.select(chat.hasNonNull("tools")).contentFormat();
    return PromptMedia.upToMark(render(PromptMedia.marked(chat, message, format == ContentFormat.OPENAI)));
  }
}
