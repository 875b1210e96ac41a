package io.kvasir.execution.stream;

import com.fasterxml.jackson.databind.node.TextNode;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.stream.ChoiceListener.Part;
import io.kvasir.http.SseEvents;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The events of OpenAI's Responses API of several workers as those of one. While nothing of the answer has come, the
 * next worker is sent the request again; of its events the client gets those that it does not have yet, under the id
 * that it knows. As they are numbered from the first, their numbers go on. One thread at a time.
 */
final class ResponseEvents {
  private final PartialAnswer answer;
  private String id = "";
  /** Events before the answer itself: those that the client has, and those of a worker that got the request again. */
  private int passed;

  private int repeated;

  /** A stream about to begin, of which {@code answer} notes what passes. */
  ResponseEvents(PartialAnswer answer) {
    this.answer = answer;
  }

  /** Notes an event of the first worker; without data it is none. */
  void note(AnswerTap tap, boolean hasData) {
    if (tap.firstToken()) {
      answer.part(Part.OTHER);
    } else if (hasData && !tap.ended() && !tap.failed()) {
      passed++;
      id = id.isEmpty() ? tap.id() : id;
    }
  }

  /** Another worker gets the request. */
  void nextWorker() {
    repeated = 0;
  }

  /** What the client gets of an event of a worker that got the request again: null for the event as it is. */
  byte @Nullable [] noteAgain(AnswerTap tap, byte @Nullable [] data) {
    if (data == null) {
      return null;
    }
    if (!tap.ended() && !tap.failed()) {
      if (tap.firstToken()) {
        answer.part(Part.OTHER);
        return null;
      }
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
