package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.sim.core.AnswerPlan;
import io.kvasir.sim.core.GeneratedSequence;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.text.AnswerPlanner;
import io.kvasir.sim.text.PlannedAnswer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a request's answers are to be other than text, and when. A call is always of one tool. Where the client requires
 * one, it is the first tool that has not been called since the user's last message, else the last, so that agents whose
 * tools include one for the result come to it. Where the client leaves it to the model, the first tool is called once
 * for a message of the user; but the answer is text where the client fixes its length: a call does not fill {@code
 * min_tokens}, goes on under {@code ignore_eos} or fits into {@code max_tokens}. So traces and measurements that send
 * tools have answers as long as they say.
 *
 * @param tools the client's functions
 * @param choice what it lets the model call
 * @param usersTurn whether the conversation ends with a message of the user
 * @param called names of the tools that have been called since the user's last message
 * @param format what an answer that calls nothing is to be
 */
record RequiredOutput(
    List<Tool> tools, ToolChoice choice, boolean usersTurn, List<String> called, OutputFormat format) {
  /** Text, whatever the conversation. */
  static final RequiredOutput TEXT =
      new RequiredOutput(List.of(), Mode.NONE, false, List.of(), new OutputFormat.Text());

  /**
   * A function of the client.
   *
   * @param schema of its arguments; an empty object when it has none
   */
  record Tool(String name, JsonNode schema) {}

  /** Which tools may or must be called. */
  sealed interface ToolChoice permits Mode, Named {}

  /** Any of the tools or none. */
  enum Mode implements ToolChoice {
    NONE,
    AUTO,
    REQUIRED
  }

  /** This one. */
  record Named(String name) implements ToolChoice {}

  /** What text has to be. */
  sealed interface OutputFormat {
    /** Anything. */
    record Text() implements OutputFormat {}

    /** JSON that a schema allows. */
    record Json(JsonNode schema) implements OutputFormat {}

    /** One of these. */
    record OneOf(List<String> texts) implements OutputFormat {}

    /** What a regular expression matches. */
    record Matching(String pattern) implements OutputFormat {}
  }

  /** The answers that fulfil this. */
  AnswerPlan plan(AnswerPlanner planner, GeneratedSequence.SamplingParams sampling) {
    Tool tool = tool();
    if (tool == null) {
      return format instanceof OutputFormat.Text ? AnswerPlan.TEXT
          : (prompt, choice) -> formatted(planner, prompt, choice);
    }
    if (choice != Mode.AUTO) {
      return (prompt, choice) -> planner.call(prompt, choice, tool.name(), tool.schema());
    }
    return (prompt, choice) -> {
      PlannedAnswer call = callOrNull(planner, prompt, choice, tool);
      int tokens = call == null ? 0 : call.length() + 1;
      boolean fits = call != null && !sampling.ignoreEos() && tokens >= sampling.minTokens()
          && tokens <= sampling.maxTokens();
      return fits ? call : formatted(planner, prompt, choice);
    };
  }

  private @Nullable Tool tool() {
    return switch (choice) {
      case Named(String name) -> tools.stream().filter(tool -> tool.name().equals(name)).findFirst().orElse(null);
      case Mode.NONE -> null;
      case Mode.AUTO -> usersTurn && !tools.isEmpty() ? tools.getFirst() : null;
      case Mode.REQUIRED -> tools.isEmpty() ? null
          : tools.stream().filter(tool -> !called.contains(tool.name())).findFirst().orElse(tools.getLast());
    };
  }

  /** A model that may call a tool or not does not call one that it does not understand. */
  private static @Nullable PlannedAnswer callOrNull(AnswerPlanner planner, int[] prompt, int choice, Tool tool) {
    try {
      return planner.call(prompt, choice, tool.name(), tool.schema());
    } catch (EngineApiException unsupported) {
      return null;
    }
  }

  private @Nullable PlannedAnswer formatted(AnswerPlanner planner, int[] prompt, int choice)
      throws EngineApiException {
    return switch (format) {
      case OutputFormat.Text() -> null;
      case OutputFormat.Json(JsonNode schema) -> planner.json(prompt, choice, schema);
      case OutputFormat.OneOf(List<String> texts) -> planner.choice(prompt, choice, texts);
      case OutputFormat.Matching(String pattern) -> planner.matching(prompt, choice, pattern);
    };
  }
}
