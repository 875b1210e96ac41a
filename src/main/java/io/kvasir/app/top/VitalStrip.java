package io.kvasir.app.top;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.app.terminal.Style;
import io.kvasir.app.terminal.StyledLine;
import java.util.ArrayList;
import java.util.List;

/** The strip of vital figures, which flow into as many lines as they need, and the problems below it. */
final class VitalStrip {
  private static final String GAP = "   ";

  private final JsonNode vitals;
  private final int width;
  private final List<StyledLine> lines = new ArrayList<>();

  private VitalStrip(JsonNode vitals, int width) {
    this.vitals = vitals;
    this.width = width;
  }

  /** The figures of {@code /admin/vitals}. */
  static List<StyledLine> of(JsonNode vitals, int width) {
    VitalStrip strip = new VitalStrip(vitals, width);
    strip.presence();
    strip.traffic();
    strip.reuse();
    return strip.lines;
  }

  /**
   * The problems of {@code /admin/vitals}, the worst first, each with its remedy.
   *
   * @param most lines at most; when there is more to say, the last says how much
   */
  static List<StyledLine> problems(JsonNode vitals, int width, int most) {
    List<StyledLine> told = new ArrayList<>();
    JsonNode problems = vitals.path("problems");
    for (int i = 0; i < problems.size(); i++) {
      JsonNode problem = problems.get(i);
      boolean error = problem.path("severity").asText().equals("error");
      String remedy = problem.path("remedy").asText("");
      List<String> wrapped =
          wrapped(problem.path("what").asText() + (remedy.isEmpty() ? "" : ": " + remedy), width - 2);
      int left = problems.size() - i - 1;
      if (told.size() + wrapped.size() + (left > 0 ? 1 : 0) > most && most > 0) {
        told.add(new StyledLine(width).append("! " + (left + 1) + (told.isEmpty() ? "" : " more")
            + (left > 0 ? " problems" : " problem") + "; /ready has all", Style.WARNING));
        return told;
      }
      for (int j = 0; j < wrapped.size(); j++) {
        told.add(
            new StyledLine(width).append((j == 0 ? "! " : "  ") + wrapped.get(j), error ? Style.BAD : Style.WARNING));
      }
    }
    return told;
  }

  private void presence() {
    JsonNode nodes = vitals.path("nodes");
    JsonNode workers = vitals.path("workers");
    JsonNode sources = vitals.path("sources");
    lines.add(new StyledLine(width).append("kvasir " + vitals.path("version").asText() + " ", Style.STRONG)
        .append(vitals.path("node").asText()));
    add("nodes", of(nodes.path("up"), nodes.path("known")), fewer(nodes.path("up"), nodes.path("known")));
    add("workers", of(workers.path("healthy"), workers.path("known")),
        fewer(workers.path("healthy"), workers.path("known")));
    addIfAny("draining", workers.path("draining"), Style.WARNING);
    if (sources.isObject()) {
      add("sources", of(sources.path("live"), sources.path("known")), Style.PLAIN);
      addIfAny("silent", sources.path("silent"), Style.BAD);
    }
  }

  private void traffic() {
    lines.add(new StyledLine(width));
    add("requests/s", amount(vitals.path("requests_per_s")), Style.STRONG);
    addUnlessZero("errors/s", vitals.path("errors_per_s"), Style.BAD);
    addUnlessZero("refused/s", vitals.path("refusals_per_s"), Style.WARNING);
    add("in flight", amount(vitals.path("in_flight")), Style.PLAIN);
    addUnlessZero("waiting", vitals.path("waiting"), Style.WARNING);
    add("ttft p50", millis(vitals.at("/ttft_ms/p50")), Style.PLAIN);
    add("p90", millis(vitals.at("/ttft_ms/p90")), Style.PLAIN);
    add("events/s", amount(vitals.path("events_per_s")), Style.PLAIN);
  }

  private void reuse() {
    JsonNode tokens = vitals.path("tokens");
    lines.add(new StyledLine(width));
    add("prompt tokens/s", amount(tokens.path("prompt_per_s")), Style.STRONG);
    add("delivered", share(tokens.path("delivered")), Style.STRONG);
    add("promised", share(tokens.path("promised")), Style.PLAIN);
    add("best", share(tokens.path("best")), Style.PLAIN);
    add("ever", share(tokens.path("ever")), Style.PLAIN);
    add("regret", share(vitals.path("regret")), Style.PLAIN);
  }

  private void addIfAny(String name, JsonNode count, Style style) {
    if (count.asInt() > 0) {
      add(name, amount(count), style);
    }
  }

  private void addUnlessZero(String name, JsonNode figure, Style style) {
    add(name, amount(figure), figure.asDouble() > 0 ? style : Style.PLAIN);
  }

  /** A figure and its name, on the next line where this one has no room for both. */
  private void add(String name, String figure, Style style) {
    if (figure.isEmpty()) {
      return;
    }
    StyledLine line = lines.getLast();
    if (line.room() < width) {
      if (line.room() < GAP.length() + name.length() + 1 + figure.length()) {
        line = new StyledLine(width);
        lines.add(line);
      } else {
        line.append(GAP);
      }
    }
    line.append(name + " ", Style.FAINT).append(figure, style);
  }

  private static Style fewer(JsonNode part, JsonNode whole) {
    return part.asLong() < whole.asLong() ? Style.BAD : Style.GOOD;
  }

  private static String of(JsonNode part, JsonNode whole) {
    return part.isNumber() ? amount(part) + "/" + amount(whole) : "";
  }

  private static String amount(JsonNode number) {
    return number.isNumber() ? Amount.of(number.doubleValue()) : "";
  }

  private static String millis(JsonNode millis) {
    if (!millis.isNumber()) {
      return "";
    }
    double value = millis.doubleValue();
    return value < 10_000 ? Math.round(value) + " ms" : Amount.of(value / 1000) + " s";
  }

  private static String share(JsonNode share) {
    return share.isNumber() ? Math.round(100 * share.doubleValue()) + " %" : "";
  }

  /** A text in lines of this width, broken between words where it has any. */
  private static List<String> wrapped(String text, int width) {
    List<String> wrapped = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (String word : text.split("\\s+", -1)) {
      if (!line.isEmpty() && line.length() + 1 + word.length() > width) {
        wrapped.add(line.toString());
        line.setLength(0);
      }
      line.append(line.isEmpty() ? "" : " ").append(word);
    }
    wrapped.add(line.toString());
    return wrapped;
  }
}
