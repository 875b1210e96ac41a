package io.kvasir.sim.core;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
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

  /** What is new of a choice. */
  void delta(StringBuilder out, int choice, Delta delta);

  /** What comes after the last choice ended. */
  void end(StringBuilder out, Usage usage);

  /** The answer in one piece. */
  JsonNode body(List<Choice> choices, Usage usage);

  /**
   * What is new of a choice.
   *
   * @param text plain text; where there is a call, its markup, which nobody is shown
   * @param call what is new of the call that the choice is; null for plain text
   * @param tokens the tokens of it, when the client requested them or something about them; else null
   * @param end why the choice ends with this, or null
   * @param usage so far, when the client requested it with every event; else null
   */
  record Delta(
      String text, @Nullable CallPart call, int @Nullable [] tokens, @Nullable End end, @Nullable Usage usage) {}

  /**
   * A part of a call.
   *
   * @param name of the tool where the call begins; else null
   * @param arguments more of their JSON
   */
  record CallPart(@Nullable String name, String arguments) {}

  /**
   * A complete choice.
   *
   * @param text its text; where it is a call, with its markup
   * @param call the call of a tool that it is, or null
   * @param tokens its text's tokens
   */
  record Choice(String text, @Nullable Call call, int[] tokens, End end) {}

  /**
   * A call of a tool.
   *
   * @param arguments JSON
   */
  record Call(String name, String arguments) {}

  /**
   * The end of a choice.
   *
   * @param stop the stop string or the stop token; null for another reason
   */
  record End(GeneratedSequence.FinishReason reason, JsonNode stop) {
    /** For no stop string or token. */
    public static End of(GeneratedSequence.FinishReason reason) {
      return new End(reason, NullNode.instance);
    }

    /** OpenAI's name of the reason. */
    public String name() {
      return switch (reason) {
        case STOP -> "stop";
        case LENGTH -> "length";
        case ABORT -> "abort";
      };
    }
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
