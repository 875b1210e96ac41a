package io.kvasir.app.monitoring;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A PromQL expression, as far as is needed to see which metrics and labels it names. Aggregations have their labels in
 * front: {@code sum by (worker) (…)}.
 */
final class PromQl {
  private static final Pattern STRING = Pattern.compile("\"(?:[^\"\\\\]|\\\\.)*\"");
  private static final Pattern METRIC = Pattern.compile("\\b(?:kvasir[_:]|jvm_|process_)[a-zA-Z0-9_:]+|\\bup\\b");
  private static final Pattern LABEL = Pattern.compile("(\\w+)\\s*(?:=~|!~|!=|=)");
  private static final Pattern GROUPING =
      Pattern.compile("\\b(by|without|on|ignoring|group_left|group_right)\\s*\\(([^)]*)\\)");

  private final String text;
  /** The same, with blanks for what strings say. */
  private final String bare;

  PromQl(String text) {
    this.text = text;
    this.bare = STRING.matcher(text).replaceAll(string -> "\"" + " ".repeat(string.group().length() - 2) + "\"");
  }

  /** A metric in the expression, with the labels that are matched. */
  record Selector(String metric, List<String> labels) {}

  /** The labels of an aggregation or of a join, with what they are labels of. */
  record Grouping(String keyword, List<String> labels, PromQl of) {}

  List<Selector> selectors() {
    List<Selector> selectors = new ArrayList<>();
    METRIC.matcher(bare).results().forEach(found -> {
      String matchers = matchers(found);
      selectors.add(
          new Selector(found.group(), LABEL.matcher(matchers).results().map(label -> label.group(1)).toList()));
    });
    return selectors;
  }

  List<Grouping> groupings() {
    List<Grouping> groupings = new ArrayList<>();
    Matcher found = GROUPING.matcher(bare);
    while (found.find()) {
      List<String> labels =
          Arrays.stream(found.group(2).split(",", -1)).map(String::strip).filter(each -> !each.isEmpty()).toList();
      boolean aggregates = found.group(1).equals("by") || found.group(1).equals("without");
      groupings.add(new Grouping(found.group(1), labels, aggregates ? operand(found.end()) : this));
    }
    return groupings;
  }

  /** The names of labels that the result can have, as far as its aggregations leave them. */
  Set<String> resultLabels(Function<String, Set<String>> labelsOf) {
    Set<String> labels = new TreeSet<>();
    groupings().stream().filter(each -> each.keyword().equals("by")).forEach(each -> labels.addAll(each.labels()));
    if (!bare.matches("(?s).*\\b(sum|max|min|avg|count|stddev|quantile)\\b.*")) {
      selectors().forEach(selector -> labels.addAll(labelsOf.apply(selector.metric())));
    }
    return labels;
  }

  /** This expression with further matchers, such as {@code model=~"$model"}, for each metric. */
  String restricted(Function<String, String> matchers) {
    StringBuilder restricted = new StringBuilder();
    int copied = 0;
    for (MatchResult metric : METRIC.matcher(bare).results().toList()) {
      String more = matchers.apply(metric.group());
      String existing = matchers(metric);
      if (existing.isEmpty()) {
        restricted.append(text, copied, metric.end()).append('{').append(more).append('}');
        copied = metric.end();
      } else {
        int close = metric.end() + existing.length() - 1;
        restricted.append(text, copied, close).append(", ").append(more);
        copied = close;
      }
    }
    return restricted.append(text, copied, text.length()).toString();
  }

  /** What stands in braces behind a metric, with the braces; empty without. */
  private String matchers(MatchResult metric) {
    if (metric.end() >= bare.length() || bare.charAt(metric.end()) != '{') {
      return "";
    }
    return bare.substring(metric.end(), bare.indexOf('}', metric.end()) + 1);
  }

  /** What stands in the parentheses that begin at or after a place. */
  private PromQl operand(int from) {
    int open = bare.indexOf('(', from);
    if (open < 0 || !bare.substring(from, open).isBlank()) {
      throw new IllegalArgumentException("write the labels of an aggregation in front of its operand: " + text);
    }
    int depth = 0;
    for (int i = open; i < bare.length(); i++) {
      depth += bare.charAt(i) == '(' ? 1 : bare.charAt(i) == ')' ? -1 : 0;
      if (depth == 0) {
        return new PromQl(text.substring(open + 1, i));
      }
    }
    throw new IllegalArgumentException("a parenthesis is not closed: " + text);
  }

  @Override
  public String toString() {
    return text;
  }
}
