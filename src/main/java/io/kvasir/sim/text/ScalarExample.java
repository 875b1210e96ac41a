package io.kvasir.sim.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.kvasir.sim.json.EngineApiException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Texts and numbers that a JSON schema allows. Used by one thread. */
final class ScalarExample {
  private static final int TRIES = 50;
  private static final int LONGEST = 100_000;
  /** Characters of all texts of a value, those included that were given up. */
  private static final int MOST_CHARACTERS = 1_000_000;
  /** By how many steps a number is above the least, at most. */
  private static final int STEPS = 9;

  private final SplittableRandom random;
  private int characters;

  ScalarExample(SplittableRandom random) {
    this.random = random;
  }

  JsonNode text(JsonNode schema) throws EngineApiException {
    int fewest = schema.path("minLength").asInt();
    int most = schema.path("maxLength").asInt(LONGEST);
    if (fewest > LONGEST || fewest > most) {
      throw unsupported("there is no text of " + fewest + " to " + most + " characters");
    }
    JsonNode pattern = schema.path("pattern");
    if (pattern.isTextual()) {
      for (int tries = 0; tries < TRIES; tries++) {
        String made = PatternExample.found(pattern.textValue(), random);
        count(made.length());
        if (made.length() >= fewest && made.length() <= most) {
          return JsonNodeFactory.instance.textNode(made);
        }
      }
      throw unsupported("no text was found for the pattern '" + pattern.textValue() + "'");
    }
    String format = format(schema.path("format").asText());
    if (format != null) {
      return JsonNodeFactory.instance.textNode(format);
    }
    count(fewest);
    StringBuilder words = new StringBuilder(word()).append(' ').append(word());
    while (words.length() < fewest) {
      words.append(' ').append(word());
    }
    if (words.length() > most) {
      words.setLength(most);
      // A text that ends with a blank is another once it is trimmed.
      if (most > 0 && words.charAt(most - 1) == ' ') {
        words.setCharAt(most - 1, 's');
      }
    }
    return JsonNodeFactory.instance.textNode(words.toString());
  }

  private void count(int more) throws EngineApiException {
    characters += more;
    if (characters > MOST_CHARACTERS) {
      throw unsupported("it needs more than " + MOST_CHARACTERS + " characters");
    }
  }

  private @Nullable String format(String name) {
    int number = random.nextInt(10, 28);
    return switch (name) {
      case "date" -> "2026-03-" + number;
      case "time" -> "09:" + number + ":00Z";
      case "date-time" -> "2026-03-" + number + "T09:30:00Z";
      case "duration" -> "PT" + number + "M";
      case "email", "idn-email" -> word() + "@example.com";
      case "hostname", "idn-hostname" -> word() + ".example.com";
      case "uri", "url", "iri", "uri-reference", "iri-reference" -> "https://example.com/" + word();
      case "ipv4" -> "192.0.2." + number;
      case "ipv6" -> "2001:db8::" + number;
      case "uuid", "uuid4" -> "%08x-0000-4000-8000-%012x".formatted(random.nextInt(), random.nextInt(1 << 30));
      default -> null;
    };
  }

  JsonNode number(JsonNode schema, boolean whole) throws EngineApiException {
    BigDecimal least = decimal(schema.path("minimum"));
    BigDecimal most = decimal(schema.path("maximum"));
    BigDecimal above = decimal(schema.path("exclusiveMinimum"));
    BigDecimal below = decimal(schema.path("exclusiveMaximum"));
    // Draft 4 has a flag beside the bound.
    if (schema.path("exclusiveMinimum").asBoolean() && above == null) {
      above = least;
    }
    if (schema.path("exclusiveMaximum").asBoolean() && below == null) {
      below = most;
    }
    BigDecimal multiple = decimal(schema.path("multipleOf"));
    BigDecimal step = multiple != null && multiple.signum() > 0 ? multiple
        : whole ? BigDecimal.ONE : new BigDecimal("0.5");
    for (int i = 2; whole && i < 1000 && step.stripTrailingZeros().scale() > 0; i++) {
      step = multiple == null ? step : multiple.multiply(BigDecimal.valueOf(i));
    }
    BigDecimal made = first(least, above, most, below, step);
    if (!isWithin(made, least, above, most, below)) {
      if (whole || multiple != null || (least == null && above == null) || (most == null && below == null)) {
        throw unsupported("there is no number between its bounds");
      }
      made = larger(least, above).add(smaller(most, below)).divide(BigDecimal.TWO);
    }
    for (int more = random.nextInt(STEPS); more > 0; more--) {
      BigDecimal next = made.add(step);
      made = isWithin(next, least, above, most, below) ? next : made;
    }
    return whole ? JsonNodeFactory.instance.numberNode(made.toBigInteger())
        : JsonNodeFactory.instance.numberNode(made.doubleValue());
  }

  /** The lowest multiple of the step above the bounds; without a lower bound one near 0. */
  private static BigDecimal first(@Nullable BigDecimal least, @Nullable BigDecimal above, @Nullable BigDecimal most,
      @Nullable BigDecimal below, BigDecimal step) {
    if (least != null || above != null) {
      BigDecimal lowest = multiple(larger(least, above), step, RoundingMode.CEILING);
      return above != null && lowest.compareTo(above) <= 0 ? lowest.add(step) : lowest;
    }
    if (most == null && below == null) {
      return step;
    }
    BigDecimal highest = multiple(smaller(most, below), step, RoundingMode.FLOOR);
    highest = below != null && highest.compareTo(below) >= 0 ? highest.subtract(step) : highest;
    return highest.compareTo(step) > 0 ? step : highest;
  }

  private static BigDecimal multiple(BigDecimal of, BigDecimal step, RoundingMode rounding) {
    return of.divide(step, 0, rounding).multiply(step);
  }

  private static boolean isWithin(BigDecimal value, @Nullable BigDecimal least, @Nullable BigDecimal above,
      @Nullable BigDecimal most, @Nullable BigDecimal below) {
    return (least == null || value.compareTo(least) >= 0) && (above == null || value.compareTo(above) > 0)
        && (most == null || value.compareTo(most) <= 0) && (below == null || value.compareTo(below) < 0);
  }

  private static BigDecimal larger(@Nullable BigDecimal one, @Nullable BigDecimal other) {
    return one == null ? Objects.requireNonNull(other) : other == null ? one : one.max(other);
  }

  private static BigDecimal smaller(@Nullable BigDecimal one, @Nullable BigDecimal other) {
    return one == null ? Objects.requireNonNull(other) : other == null ? one : one.min(other);
  }

  private static @Nullable BigDecimal decimal(JsonNode bound) throws EngineApiException {
    if (bound.isDouble() && !Double.isFinite(bound.doubleValue())) {
      throw unsupported("a bound of it is beyond all numbers");
    }
    return bound.isNumber() ? bound.decimalValue() : null;
  }

  /** A word of which the model's answers are made. */
  private String word() {
    List<String> words = SyntheticText.vocabulary();
    return words.get(random.nextInt(words.size()));
  }

  /** What cannot be made is refused and not made wrong. */
  static EngineApiException unsupported(String why) {
    return EngineApiException.badRequest("The simulated engine cannot answer by this JSON schema: " + why + ".");
  }
}
