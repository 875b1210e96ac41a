package io.kvasir.execution.stream;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.http.SseEvents;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The events of OpenAI's chats and completions of several workers as those of one. Those of the first worker pass as
 * they came, while their text is noted; those of the next are {@link ContinuedEvents}. One thread at a time.
 */
final class ChatEvents implements StitchedEvents {
  /** Bytes of the first event that are kept as they are, and the members that are kept of a longer one. */
  private static final int MAX_HEAD = 4 << 10;

  private static final Set<String> HEAD = Set.of("id", "object", "created", "model", "system_fingerprint");

  private final PartialAnswer answer;
  private final boolean chat;
  private final boolean withoutUsage;
  private final EventData reader = new EventData();
  /** The data of the first event. */
  private byte @Nullable [] first;
  /** Makes the next worker's events those of the first; null while there is only one. */
  private @Nullable ContinuedEvents continued;

  /**
   * A stream about to begin, of which {@code answer} notes what passes.
   *
   * @param chat whether it is a chat's, not a completion's
   * @param withoutUsage whether the event that has usage alone is kept from the client
   */
  ChatEvents(PartialAnswer answer, boolean chat, boolean withoutUsage) {
    this.answer = answer;
    this.chat = chat;
    this.withoutUsage = withoutUsage;
  }

  @Override
  public void begin(AnswerTap tap) {
    if (continued == null) {
      tap.listen(answer);
    }
  }

  @Override
  public byte @Nullable [] edit(byte[] bytes, int from, int to, AnswerTap tap) throws IOException {
    ContinuedEvents rest = continued;
    if (rest != null) {
      byte[] data = reader.of(bytes, from, to);
      byte[] instead = data == null || EventData.isDone(data) ? null : rest.edit(data, tap);
      return instead == null || instead.length == 0 ? instead : SseEvents.event(instead);
    }
    if (first == null && !tap.failed() && !tap.ended()) {
      first = headOf(reader.of(bytes, from, to));
    }
    answer.eventPassed(tap);
    return withoutUsage && tap.usageOnly() ? WholeEvents.Editor.NOTHING : null;
  }

  @Override
  public void nextWorker(RestOfStream rest) {
    continued = new ContinuedEvents(answer, rest, chat, withoutUsage, first);
  }

  @Override
  public byte[] end(boolean withUsage) throws IOException {
    ByteArrayOutputStream events = new ByteArrayOutputStream();
    JsonMembers read = first == null ? null : JsonMembers.tryOf(first);
    JsonMembers head = read == null ? JsonMembers.empty() : read.without("usage");
    if (!answer.finished()) {
      String empty = chat ? "\"delta\":{}" : "\"text\":\"\"";
      String choice = "[{\"index\":0," + empty + ",\"logprobs\":null,\"finish_reason\":\"length\"}]";
      events.write(SseEvents.event(head.with("choices", choice).bytes()));
    }
    if (withUsage && !answer.hasUsageEvent()) {
      ObjectNode usage = answer.totalUsage(JsonNodeFactory.instance.objectNode());
      events.write(SseEvents.event(head.with("choices", "[]").with("usage", usage.toString()).bytes()));
    }
    events.write(SseEvents.event(EventData.done()));
    return events.toByteArray();
  }

  /** The data of an event, without what there is much of, like the tokens of a long prompt. */
  private static byte @Nullable [] headOf(byte @Nullable [] data) {
    JsonMembers members = data == null || data.length <= MAX_HEAD ? null : JsonMembers.tryOf(data);
    return members == null ? data : members.without(name -> !HEAD.contains(name)).bytes();
  }
}
