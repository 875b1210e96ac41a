package io.kvasir.sim.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.kvasir.sim.json.EngineApiException;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Plans answers that are more than text: they are a function of the prompt, of the choice's number and of what was
 * required of them, so every engine of a model answers the same. Thread-safe.
 */
public final class AnswerPlanner {
  private final ModelText model;
  private volatile @Nullable ToolCallMarkup markup;

  /** A planner for a model. */
  public AnswerPlanner(ModelText model) {
    this.model = model;
  }

  /**
   * The call of a tool.
   *
   * @param schema of the arguments; an empty object where anything may be given
   */
  public PlannedAnswer call(int[] prompt, int choice, String name, JsonNode schema) throws EngineApiException {
    ToolCallMarkup written = markup();
    JsonNode made = SchemaExample.of(objects(schema), seed(prompt, choice));
    String arguments = JsonDumps.write(made, written.spaced());
    int announced = written.begin().length() + name.length();
    int from = announced + written.middle().length();
    String text = written.begin() + name + written.middle() + arguments + written.end();
    return PlannedAnswer.of(
        model, prompt, text,
        new PlannedAnswer.CallSpan(name, announced + 1, from, from + arguments.length()));
  }

  /** Found out when the first call is made. */
  private ToolCallMarkup markup() {
    ToolCallMarkup known = markup;
    if (known == null) {
      known = ToolCallMarkup.of(model);
      markup = known;
    }
    return known;
  }

  /** Arguments are an object, whatever else their schema says. */
  private static JsonNode objects(JsonNode schema) {
    return schema.isObject() && !schema.isEmpty() ? schema
        : JsonNodeFactory.instance.objectNode().put("type", "object");
  }

  /** A JSON value that a schema allows. */
  public PlannedAnswer json(int[] prompt, int choice, JsonNode schema) throws EngineApiException {
    String text = JsonDumps.write(SchemaExample.of(schema, seed(prompt, choice)), true);
    return PlannedAnswer.of(model, prompt, text, null);
  }

  /** One of several texts. */
  public PlannedAnswer choice(int[] prompt, int choice, List<String> texts) {
    String text = texts.get(new SplittableRandom(seed(prompt, choice)).nextInt(texts.size()));
    return PlannedAnswer.of(model, prompt, text, null);
  }

  /** A text that a regular expression matches. */
  public PlannedAnswer matching(int[] prompt, int choice, String pattern) throws EngineApiException {
    String text = PatternExample.matching(pattern, new SplittableRandom(seed(prompt, choice)));
    return PlannedAnswer.of(model, prompt, text, null);
  }

  private static long seed(int[] prompt, int choice) {
    return Arrays.hashCode(prompt) * 0x9E3779B97F4A7C15L + choice;
  }
}
