package io.kvasir.execution.stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.dialect.JsonMembers;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The events of a worker that continues an answer, as those of the worker that began it: they have the first one's id,
 * do not repeat the role nor the blanks that its text ended with, and have the usage of all. One thread at a time.
 */
final class ContinuedEvents {
  private static final List<String> SHARED = List.of("id", "created", "model");

  private final PartialAnswer answer;
  private final AnswerTap tap;
  private final boolean chat;
  private final boolean withoutUsage;
  private final JsonScan notes;
  private @Nullable JsonMembers first;

  /**
   * The blanks at the end of the text so far. The next worker is not given them, for a template may drop them, and a
   * word's token begins with its blank: so it is to repeat them.
   */
  private String blanks;

  /**
   * Events about to come.
   *
   * @param tap has read each event
   * @param withoutUsage whether the event that has usage alone is kept from the client
   * @param first the data of the answer's first event, null when there is none yet
   */
  ContinuedEvents(
      PartialAnswer answer, AnswerTap tap, boolean chat, boolean withoutUsage, byte @Nullable [] first) {
    this.answer = answer;
    this.tap = tap;
    this.chat = chat;
    this.withoutUsage = withoutUsage;
    this.notes = new JsonScan(answer);
    this.first = first == null ? null : JsonMembers.tryOf(first);
    String text = answer.text();
    this.blanks = text.substring(text.stripTrailing().length());
  }

  /** The data that replaces an event's: none at all when empty, the event as it is when null. */
  byte @Nullable [] edit(byte[] data) {
    JsonMembers chunk = JsonMembers.tryOf(data);
    if (chunk == null || chunk.hasValue("error")) {
      note(data);
      return null;
    }
    JsonMembers begun = first == null ? chunk : first;
    first = begun;
    JsonMembers out = chunk;
    for (String name : SHARED) {
      out = chunk.has(name) ? out.withCopy(name, begun, name) : out;
    }
    boolean dropped = false;
    if (chunk.value("choices") instanceof ArrayNode choices && edited(choices)) {
      dropped = choices.valueStream().noneMatch(ContinuedEvents::hasContent);
      out = out.with("choices", choices.toString());
    }
    byte[] noted = out.bytes();
    note(noted);
    if (dropped || (withoutUsage && tap.usageOnly())) {
      return WholeEvents.Editor.NOTHING;
    }
    return chunk.value("usage") instanceof ObjectNode counts
        ? out.with("usage", answer.totalUsage(counts).toString()).bytes()
        : noted;
  }

  private void note(byte[] data) {
    notes.reset();
    notes.accept(data, 0, data.length);
    answer.eventPassed(tap);
  }

  /** Removes from the choices what the client has already; whether there was something. */
  private boolean edited(ArrayNode choices) {
    boolean hasRole = answer.hasRole();
    boolean edited = false;
    for (JsonNode choice : choices) {
      if ((chat ? choice.path("delta") : choice) instanceof ObjectNode said) {
        edited |= chat && hasRole && said.remove("role") != null;
        edited |= withoutBlanks(said, chat ? "content" : "text");
      }
    }
    return edited;
  }

  private boolean withoutBlanks(ObjectNode said, String name) {
    String text = said.path(name).asText("");
    if (blanks.isEmpty() || text.isEmpty()) {
      return false;
    }
    int common = 0;
    while (common < Math.min(text.length(), blanks.length()) && text.charAt(common) == blanks.charAt(common)) {
      common++;
    }
    said.put(name, text.substring(common));
    blanks = common == text.length() ? blanks.substring(common) : "";
    return common > 0;
  }

  private static boolean hasContent(JsonNode choice) {
    return choice.hasNonNull("finish_reason")
        || !choice.path("text").asText("").isEmpty()
        || choice.path("delta").valueStream().anyMatch(value -> !value.asText("").isEmpty() || !value.isEmpty());
  }
}
