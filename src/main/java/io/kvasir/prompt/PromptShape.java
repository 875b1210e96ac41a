package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * The shape of a prompt: a text, or a conversation with some {@link Part}s beside its messages. A chat template that is
 * rendered wrongly is most often wrong for one shape, so that is the unit in which a model leaves its configured mode.
 *
 * @param index 0 to 31 for conversations, a bit for each part; 32 for texts
 */
record PromptShape(int index) {
  /** What a chat template may read beside the messages. */
  enum Part {
    /** Tools. */
    TOOLS(1 << 0),
    /** Documents for retrieval. */
    DOCUMENTS(1 << 1),
    /** A reasoning effort, or thinking that is switched on or off. */
    THINKING(1 << 2),
    /** Other template arguments. */
    KWARGS(1 << 3),
    /** The last message is continued, or there is no generation prompt. */
    CONTINUATION(1 << 4);

    private final int bit;

    Part(int bit) {
      this.bit = bit;
    }
  }

  static final PromptShape CHAT = new PromptShape(0);
  static final PromptShape TEXT = new PromptShape(1 << Part.values().length);

  /** How many shapes there are. */
  static final int COUNT = TEXT.index + 1;

  private static final Set<String> THINKING_KWARGS = Set.of("enable_thinking", "thinking", "reasoning_effort");

  static PromptShape of(PromptSource source) {
    return source instanceof PromptSource.Chat chat ? ofChat(chat.body()) : TEXT;
  }

  static PromptShape with(Set<Part> parts) {
    int index = 0;
    for (Part part : parts) {
      index |= part.bit;
    }
    return new PromptShape(index);
  }

  private static PromptShape ofChat(JsonNode body) {
    Set<Part> parts = EnumSet.noneOf(Part.class);
    if (!body.path("tools").isEmpty()) {
      parts.add(Part.TOOLS);
    }
    if (body.hasNonNull("documents")) {
      parts.add(Part.DOCUMENTS);
    }
    if (body.hasNonNull("reasoning_effort")) {
      parts.add(Part.THINKING);
    }
    body.path("chat_template_kwargs").fieldNames().forEachRemaining(name ->
        parts.add(
            THINKING_KWARGS.contains(name) ? Part.THINKING : name.equals("documents") ? Part.DOCUMENTS : Part.KWARGS));
    if (body.path("continue_final_message").asBoolean(false) || !body.path("add_generation_prompt").asBoolean(true)) {
      parts.add(Part.CONTINUATION);
    }
    return with(parts);
  }

  boolean has(Part part) {
    return (index & part.bit) != 0;
  }

  /** The bit of this shape in a set of shapes. */
  long bit() {
    return 1L << index;
  }

  /** The shape in words, such as {@code chat+tools}. */
  @Override
  public String toString() {
    if (equals(TEXT)) {
      return "text";
    }
    List<String> names = new ArrayList<>(List.of("chat"));
    for (Part part : Part.values()) {
      if (has(part)) {
        names.add(part.name().toLowerCase(Locale.ROOT));
      }
    }
    return String.join("+", names);
  }
}
