package io.kvasir.load;

import io.kvasir.load.TenantClient.Answer;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What the slowest of some requests spent their times to first token on, on average.
 *
 * @param requests of these
 * @param ttftMs of which the others are parts
 * @param roomMs in the router's waiting room
 * @param heldMs of these, by what they waited for
 */
record TailTrace(int requests, double ttftMs, double roomMs, Map<String, Double> heldMs) {
  private static final Pattern HELD = Pattern.compile("(?:held=|,)([a-z]+):(\\d+)");

  /**
   * Of answers with a first token.
   *
   * @param share the slowest of them, 0 to 1; at least one
   */
  static TailTrace of(List<Answer> answers, double share) {
    List<Answer> slowest =
        answers.stream()
            .sorted(Comparator.comparingDouble(Answer::ttftMs).reversed())
            .limit(Math.max(1, Math.round(share * answers.size())))
            .toList();
    Map<String, Double> held = new TreeMap<>();
    for (Answer each : slowest) {
      int at = each.reason().indexOf("held=");
      Matcher parts = HELD.matcher(at < 0 ? "" : each.reason().substring(at));
      while (parts.find()) {
        held.merge(parts.group(1), Double.parseDouble(parts.group(2)) / slowest.size(), Double::sum);
      }
    }
    return new TailTrace(
        slowest.size(), slowest.stream().mapToDouble(Answer::ttftMs).average().orElse(Double.NaN),
        slowest.stream().mapToDouble(Answer::queuedMs).average().orElse(Double.NaN), held);
  }

  /** In one line. */
  String text() {
    String held =
        heldMs.entrySet().stream()
            .sorted(Map.Entry.<String, Double>comparingByValue().reversed())
            .map(each -> "%s %.0f".formatted(each.getKey(), each.getValue()))
            .collect(Collectors.joining(", "));
    return "the slowest %d took %.0f ms: %.0f in the room%s and %.0f from there to the first token"
        .formatted(requests, ttftMs, roomMs, held.isEmpty() ? "" : " (" + held + ")", ttftMs - roomMs);
  }
}
