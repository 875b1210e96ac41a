package io.kvasir.telemetry;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * The JSON form of decisions and outcomes: one object each, {@code "kind"} first, {@code decision} or {@code outcome}.
 * Fields are named as in the records, in snake_case; null values are left out. Thread-safe.
 */
public final class DecisionJson {
  private static final String KIND = "kind";
  private static final String DECISION = "decision";
  private static final String OUTCOME = "outcome";
  private static final JsonMapper MAPPER =
      JsonMapper.builder()
          .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .defaultPropertyInclusion(
              JsonInclude.Value.construct(JsonInclude.Include.NON_NULL, JsonInclude.Include.ALWAYS))
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .build();

  private DecisionJson() {}

  /** The JSON of a decision. */
  public static ObjectNode of(DecisionRecord decision) {
    return kind(DECISION).setAll((ObjectNode) MAPPER.valueToTree(decision));
  }

  /** The JSON of an outcome. */
  public static ObjectNode of(DecisionOutcome outcome) {
    return kind(OUTCOME).setAll((ObjectNode) MAPPER.valueToTree(outcome));
  }

  /**
   * Reads a line of a log.
   *
   * @return the decision; null for a line of another kind
   * @throws JsonProcessingException when it is no JSON, or a decision with parts missing or wrong
   */
  public static @Nullable DecisionRecord decision(String line) throws JsonProcessingException {
    JsonNode tree = MAPPER.readTree(line);
    return DECISION.equals(tree.path(KIND).asText()) ? MAPPER.treeToValue(tree, DecisionRecord.class) : null;
  }

  private static ObjectNode kind(String kind) {
    return JsonNodeFactory.instance.objectNode().put(KIND, kind);
  }
}
