package io.kvasir.llmd;

import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Durations as Go writes them, such as {@code 1m30s}, and quantities as Kubernetes does, such as {@code 4Gi}.
 *
 * <p>Sources: Go's {@code time.ParseDuration}; Kubernetes' {@code resource.Quantity}.
 */
enum GoNotation {
  /** A duration, in milliseconds. */
  DURATION("a duration such as 30s or 1m30s") {
    @Override
    OptionalLong read(String text) {
      return millis(text);
    }
  },

  /** A quantity. */
  QUANTITY("a quantity such as 500, 1k or 4Gi") {
    @Override
    OptionalLong read(String text) {
      return amount(text);
    }
  };

  private static final Pattern PART = Pattern.compile("(\\d+(?:\\.\\d+)?)(ns|us|µs|ms|s|m|h)");
  private static final Map<String, Double> MILLIS =
      Map.of("ns", 1e-6, "us", 1e-3, "µs", 1e-3, "ms", 1.0, "s", 1e3, "m", 6e4, "h", 3.6e6);

  private static final Pattern AMOUNT = Pattern.compile("(\\d{1,15}(?:\\.\\d+)?)(k|M|G|T|Ki|Mi|Gi|Ti)?");
  private static final Map<String, Double> UNITS =
      Map.of(
          "k", 1e3, "M", 1e6, "G", 1e9, "T", 1e12,
          "Ki", 0x1p10, "Mi", 0x1p20, "Gi", 0x1p30, "Ti", 0x1p40);

  private final String expected;

  GoNotation(String expected) {
    this.expected = expected;
  }

  /** The value that a text stands for, rounded; empty when it stands for none. */
  abstract OptionalLong read(String text);

  /** What is wrong with a text that stands for none. */
  String problem(String text) {
    return "is " + text + "; it has to be " + expected;
  }

  private static OptionalLong millis(String text) {
    if (text.equals("0")) {
      return OptionalLong.of(0);
    }
    Matcher part = PART.matcher(text);
    double millis = 0;
    int end = 0;
    while (part.find() && part.start() == end) {
      millis += Double.parseDouble(part.group(1)) * MILLIS.getOrDefault(part.group(2), 0.0);
      end = part.end();
    }
    return end == 0 || end != text.length() ? OptionalLong.empty() : OptionalLong.of(Math.round(millis));
  }

  private static OptionalLong amount(String text) {
    Matcher quantity = AMOUNT.matcher(text);
    if (!quantity.matches()) {
      return OptionalLong.empty();
    }
    double unit = quantity.group(2) == null ? 1 : UNITS.getOrDefault(quantity.group(2), 1.0);
    return OptionalLong.of(Math.round(Double.parseDouble(quantity.group(1)) * unit));
  }
}
