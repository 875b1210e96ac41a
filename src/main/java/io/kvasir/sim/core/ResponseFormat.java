package io.kvasir.sim.core;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One answer in the format of one API. The stream methods append whole server-sent events to {@code out}, which the
 * caller sends. Used by one thread.
 */
public interface ResponseFormat {
  /** What comes before the first token. */
  void begin(StringBuilder out);

  /**
   * New text of a choice.
   *
   * @param tokens the text's tokens, when the client requested them; else null
   * @param finish why the choice ends with this text, or null
   * @param usage so far, when the client requested it with every event; else null
   */
  void delta(
      StringBuilder out,
      int choice,
      String text,
      int @Nullable [] tokens,
      GeneratedSequence.@Nullable FinishReason finish,
      @Nullable Usage usage);

  /** What comes after the last choice ended. */
  void end(StringBuilder out, Usage usage);

  /** The answer in one piece. */
  JsonNode body(List<Choice> choices, Usage usage);

  /**
   * A complete choice.
   *
   * @param tokens its text's tokens
   */
  record Choice(String text, int[] tokens, GeneratedSequence.FinishReason finish) {}

  /** OpenAI's name of a finish reason. */
  static String reason(GeneratedSequence.FinishReason finish) {
    return switch (finish) {
      case STOP -> "stop";
      case LENGTH -> "length";
      case ABORT -> "abort";
    };
  }

  /** Appends an event that goes by its type, as Anthropic's and those of responses do. */
  static void append(StringBuilder out, ObjectNode event) {
    out.append("event: ").append(event.get("type").textValue()).append("\ndata: ").append(event).append("\n\n");
  }

  /** Appends {@code text} as a JSON string. */
  static void quote(StringBuilder out, String text) {
    out.append('"');
    JsonStringEncoder.getInstance().quoteAsString(text, out);
    out.append('"');
  }
}
