package io.kvasir.execution.stream;

import com.fasterxml.jackson.databind.node.TextNode;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.stream.ChoiceListener.Part;
import io.kvasir.http.SseEvents;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The events of OpenAI's Responses API of several workers as those of one. While nothing of the answer has come, the
 * next worker is sent the request again; of its events the client gets those that it does not have yet, under the id
 * that it knows. As they are numbered from the first, their numbers go on. One thread at a time.
 */
final class ResponseEvents implements StitchedEvents {
  private final PartialAnswer answer;
  private final EventData reader = new EventData();
  private String id = "";
  /** Events before the answer itself: those that the client has, and those of a worker that got the request again. */
  private int passed;

  private int repeated;
  private int numbered;
  /** Whether the current worker got the request again. */
  private boolean requestedAgain;

  /** A stream about to begin, of which {@code answer} notes what passes. */
  ResponseEvents(PartialAnswer answer) {
    this.answer = answer;
  }

  @Override
  public byte @Nullable [] edit(byte[] bytes, int from, int to, AnswerTap tap) throws IOException {
    byte[] instead = requestedAgain ? editAgain(bytes, from, to, tap) : noteFirst(bytes, from, to, tap);
    answer.eventPassed(tap);
    numbered += instead == null || instead.length > 0 ? 1 : 0;
    return instead;
  }

  @Override
  public void nextWorker(RestOfStream rest) {
    requestedAgain = true;
    repeated = 0;
  }

  @Override
  public int numbered() {
    return numbered;
  }

  /** Nothing: only an engine ends a response, which has all of the answer. */
  @Override
  public byte[] end(boolean withUsage) {
    return WholeEvents.Editor.NOTHING;
  }

  private byte @Nullable [] noteFirst(byte[] bytes, int from, int to, AnswerTap tap) throws IOException {
    if (tap.firstToken()) {
      answer.part(Part.OTHER);
    } else if (!tap.ended() && !tap.failed() && reader.of(bytes, from, to) != null) {
      passed++;
      id = id.isEmpty() ? tap.id() : id;
    }
    return null;
  }

  /** What the client gets of an event of a worker that got the request again; null for the event as it is. */
  private byte @Nullable [] editAgain(byte[] bytes, int from, int to, AnswerTap tap) throws IOException {
    boolean over = tap.ended() || tap.failed();
    if (!over && tap.firstToken()) {
      answer.part(Part.OTHER);
      return null;
    }
    byte[] data = reader.of(bytes, from, to);
    if (data == null) {
      return null;
    }
    if (!over) {
      repeated++;
      if (repeated <= passed) {
        return WholeEvents.Editor.NOTHING;
      }
      passed = repeated;
    }
    if (id.isEmpty()) {
      id = tap.id();
      return null;
    }
    return renamed(data);
  }

  /** An event with the response that it has under the id that the client knows; null for the event as it is. */
  private byte @Nullable [] renamed(byte[] data) {
    JsonMembers event = JsonMembers.tryOf(data);
    JsonMembers response = event == null ? null : event.object("response");
    if (event == null || response == null) {
      return null;
    }
    String named = response.with("id", TextNode.valueOf(id).toString()).toString();
    byte[] name = ("event: " + event.value("type").asText() + "\n").getBytes(StandardCharsets.UTF_8);
    byte[] rest = SseEvents.event(event.with("response", named).bytes());
    byte[] whole = new byte[name.length + rest.length];
    System.arraycopy(name, 0, whole, 0, name.length);
    System.arraycopy(rest, 0, whole, name.length, rest.length);
    return whole;
  }
}
