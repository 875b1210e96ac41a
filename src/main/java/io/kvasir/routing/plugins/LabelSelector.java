package io.kvasir.routing.plugins;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A label selector as in Kubernetes: {@code tier=gold, gpu in (h100, h200), zone!=a, gpu notin (l4), canary, !spot},
 * all conditions of which must hold. A missing label is not equal to any value.
 */
record LabelSelector(List<Predicate<Map<String, String>>> conditions) {
  private static final String NAME = "[A-Za-z0-9][A-Za-z0-9_./-]*";
  private static final String VALUE = "[A-Za-z0-9_.-]*";
  private static final Pattern EQUAL = Pattern.compile("(" + NAME + ")\\s*(!=|==?)\\s*(" + VALUE + ")");
  private static final Pattern AMONG = Pattern.compile("(" + NAME + ")\\s+(in|notin)\\s*\\(([^()]*)\\)");
  private static final Pattern EXISTS = Pattern.compile("(!?)\\s*(" + NAME + ")");
  /** Commas, but not those between parentheses. */
  private static final Pattern COMMA = Pattern.compile(",(?![^(]*\\))");

  /**
   * Parses a selector; an empty one matches all labels.
   *
   * @throws IllegalArgumentException when the text is no selector, naming the condition
   */
  static LabelSelector of(String text) {
    List<Predicate<Map<String, String>>> conditions = new ArrayList<>();
    if (!text.isBlank()) {
      for (String condition : COMMA.split(text, -1)) {
        conditions.add(condition(condition.strip()));
      }
    }
    return new LabelSelector(List.copyOf(conditions));
  }

  boolean matches(Map<String, String> labels) {
    return conditions.stream().allMatch(condition -> condition.test(labels));
  }

  private static Predicate<Map<String, String>> condition(String text) {
    Matcher equal = EQUAL.matcher(text);
    if (equal.matches()) {
      String name = equal.group(1);
      String value = equal.group(3);
      return equal.group(2).equals("!=")
          ? labels -> !value.equals(labels.get(name))
          : labels -> value.equals(labels.get(name));
    }
    Matcher among = AMONG.matcher(text);
    if (among.matches()) {
      String name = among.group(1);
      List<String> values = Arrays.stream(among.group(3).split(",", -1)).map(String::strip).toList();
      boolean isIn = among.group(2).equals("in");
      return labels -> values.contains(labels.getOrDefault(name, "\n")) == isIn;
    }
    Matcher exists = EXISTS.matcher(text);
    if (exists.matches()) {
      String name = exists.group(2);
      boolean expected = exists.group(1).isEmpty();
      return labels -> labels.containsKey(name) == expected;
    }
    throw new IllegalArgumentException(
        "'" + text + "' is no condition on labels: write name=value, name!=value, name in (a, b), name notin (a, b),"
            + " name or !name, with commas between");
  }
}
