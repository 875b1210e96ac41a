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
  private final RestOfStream rest;
  private final boolean chat;
  private final boolean withoutUsage;
  private final JsonScan notes;
  private @Nullable JsonMembers first;

  /**
   * The blanks at the end of the text so far. The next worker is not given them, for a template may drop them, and a
   * word's token begins with its blank: so it is to repeat them.
   */
  private String blanks;
  /** Whether the worker is known to go on from the text so far. */
  private boolean accepted;

  /**
   * Events about to come.
   *
   * @param rest what is known of the request for them
   * @param withoutUsage whether the event that has usage alone is kept from the client
   * @param first the data of the answer's first event, null when there is none yet
   */
  ContinuedEvents(
      PartialAnswer answer, RestOfStream rest, boolean chat, boolean withoutUsage, byte @Nullable [] first) {
    this.answer = answer;
    this.rest = rest;
    this.chat = chat;
    this.withoutUsage = withoutUsage || rest.usageAdded();
    this.notes = new JsonScan(answer);
    this.first = first == null ? null : JsonMembers.tryOf(first);
    String text = answer.text();
    this.blanks = text.substring(text.stripTrailing().length());
  }

  /**
   * The data that replaces an event's: none at all when empty, the event as it is when null.
   *
   * @param tap has read the event
   * @throws DivergedStreamException when the worker does not go on from the text so far
   */
  byte @Nullable [] edit(byte[] data, AnswerTap tap) throws DivergedStreamException {
    JsonMembers chunk = JsonMembers.tryOf(data);
    if (chunk == null || chunk.hasValue("error")) {
      note(data, tap);
      return null;
    }
    JsonMembers begun = first == null ? chunk : first;
    first = begun;
    JsonMembers out = chunk;
    for (String name : SHARED) {
      out = chunk.has(name) ? out.withCopy(name, begun, name) : out;
    }
    boolean dropped = false;
    boolean usageOnly = tap.usageOnly();
    if (chunk.value("choices") instanceof ArrayNode choices && !choices.isEmpty()) {
      boolean edited = edited(choices);
      boolean content = choices.valueStream().anyMatch(ContinuedEvents::hasContent);
      if (content) {
        accept(tap);
      }
      dropped = edited && !content;
      out = edited ? out.with("choices", choices.toString()) : out;
    }
    if (!rest.usageInEvents() && !usageOnly) {
      out = out.without("usage");
    }
    byte[] noted = out.bytes();
    note(noted, tap);
    if (dropped || (withoutUsage && usageOnly)) {
      return WholeEvents.Editor.NOTHING;
    }
    return out.value("usage") instanceof ObjectNode counts
        ? out.with("usage", answer.totalUsage(counts).toString()).bytes()
        : noted;
  }

  /** Before the first of its answer passes, the worker has to have the prompt that it was given. */
  private void accept(AnswerTap tap) throws DivergedStreamException {
    if (!accepted && !rest.accepts(tap.promptTokens())) {
      throw new DivergedStreamException(tap.promptTokens() + " tokens of prompt, " + rest.prompt() + " expected");
    }
    accepted = true;
  }

  private void note(byte[] data, AnswerTap tap) {
    notes.reset();
    notes.accept(data, 0, data.length);
    answer.eventPassed(tap);
  }

  /** Removes from the choices what the client has already; whether there was something. */
  private boolean edited(ArrayNode choices) throws DivergedStreamException {
    boolean hasRole = answer.hasRole();
    boolean edited = false;
    for (JsonNode choice : choices) {
      if ((chat ? choice.path("delta") : choice) instanceof ObjectNode delta) {
        edited |= chat && hasRole && delta.remove("role") != null;
        edited |= withoutBlanks(delta, chat ? "content" : "text");
      }
      if (!blanks.isEmpty() && choice.hasNonNull("finish_reason")) {
        throw new DivergedStreamException("an end in place of the blanks that the text ended with");
      }
    }
    return edited;
  }

  private boolean withoutBlanks(ObjectNode delta, String name) throws DivergedStreamException {
    String text = delta.path(name).asText("");
    if (blanks.isEmpty() || text.isEmpty()) {
      return false;
    }
    int common = Math.min(text.length(), blanks.length());
    if (!text.regionMatches(0, blanks, 0, common)) {
      throw new DivergedStreamException("other blanks than the text ended with");
    }
    delta.put(name, text.substring(common));
    blanks = blanks.substring(common);
    return true;
  }

  private static boolean hasContent(JsonNode choice) {
    return choice.hasNonNull("finish_reason")
        || !choice.path("text").asText("").isEmpty()
        || choice.path("delta").valueStream().anyMatch(value -> !value.asText("").isEmpty() || !value.isEmpty());
  }
}
