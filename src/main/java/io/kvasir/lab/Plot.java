package io.kvasir.lab;

import java.util.ArrayList;
import java.util.Formatter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * A plot of one measure of several profiles, as SVG: lines over the load where there are several loads, bars where
 * there is one. Colours are of CSS classes ({@code s0} to {@code s11}) with values written beside them
 * for viewers without the page's style, chosen to be distinguishable on white and on black.
 */
final class Plot {
  private static final String[] COLOURS = {
    "#2f7ed8", "#d9534f", "#2e9e5b", "#b07d12", "#8e5bd0", "#0f9aa8", "#d0569b", "#7a8b1e", "#c7651a", "#5a6fb5",
    "#7d7d7d", "#a0522d"
  };
  private static final int WIDTH = 620;
  private static final int LEFT = 64;
  private static final int RIGHT = 150;
  private static final int TOP = 34;
  private static final int HEIGHT = 230;
  private static final int LINE = 16;

  /** The scale of the vertical axis. */
  enum Axis {
    /** 0 to 1. */
    SHARE,
    /** By powers of ten. */
    LOGARITHMIC
  }

  private record Point(double load, double value) {}

  private final String title;
  private final String unit;
  private final Axis axis;
  private final Map<String, List<Point>> series;
  private final double min;
  private final double max;
  private final double firstLoad;
  private final double lastLoad;

  private Plot(String title, String unit, Axis axis, Map<String, List<Point>> series) {
    this.title = title;
    this.unit = unit;
    this.axis = axis;
    this.series = series;
    List<Point> points = series.values().stream().flatMap(List::stream).toList();
    double smallest = points.stream().mapToDouble(Point::value).filter(value -> value > 0).min().orElse(1);
    double largest = points.stream().mapToDouble(Point::value).filter(Double::isFinite).max().orElse(1);
    this.min = axis == Axis.SHARE ? 0 : Math.floor(Math.log10(smallest) * 2) / 2;
    this.max = axis == Axis.SHARE ? 1 : Math.max(min + 0.5, Math.ceil(Math.log10(Math.max(largest, 1)) * 2) / 2);
    this.firstLoad = points.stream().mapToDouble(Point::load).min().orElse(0);
    this.lastLoad = points.stream().mapToDouble(Point::load).max().orElse(1);
  }

  /** A drawing of the means over the seeds. */
  static Plot of(String title, String unit, List<Summary> summaries, ToDoubleFunction<RunReport> of, Axis axis) {
    Map<String, List<Point>> series = new LinkedHashMap<>();
    for (Summary summary : summaries) {
      series
          .computeIfAbsent(summary.first().setup().profile(), _ -> new ArrayList<>())
          .add(new Point(summary.first().setup().scale(), summary.mean(of)));
    }
    return new Plot(title, unit, axis, series);
  }

  /** The drawing; readable alone and inside a page. */
  String svg() {
    boolean bars = firstLoad == lastLoad;
    int height = bars ? TOP + series.size() * (LINE + 6) + 28 : Math.max(TOP + HEIGHT + 44, TOP + series.size() * LINE);
    Formatter svg = new Formatter(Locale.ROOT);
    svg.format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
            + "font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#777\">%n<title>%s</title>%n"
            + "<text class=\"title\" x=\"%d\" y=\"18\" font-size=\"14\" font-weight=\"600\">%s (%s)</text>%n",
        WIDTH, height, escaped(title), bars ? 8 : LEFT, escaped(title), unit);
    if (bars) {
      bars(svg);
    } else {
      grid(svg);
      lines(svg);
    }
    return svg.format("</svg>%n").toString();
  }

  private void grid(Formatter svg) {
    List<Double> ticks = new ArrayList<>();
    if (axis == Axis.SHARE) {
      ticks.addAll(List.of(0.0, 0.2, 0.4, 0.6, 0.8, 1.0));
    } else {
      for (double decade = Math.floor(min); decade <= max; decade++) {
        for (double mantissa : new double[] {1, 2, 5}) {
          double tick = decade + Math.log10(mantissa);
          if (tick >= min && tick <= max) {
            ticks.add(tick);
          }
        }
      }
    }
    for (double tick : ticks) {
      double y = TOP + HEIGHT * (1 - (tick - min) / (max - min));
      String label = ResultTable.plain(axis == Axis.SHARE ? tick : Math.rint(Math.pow(10, tick)));
      svg.format("<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#999\" stroke-opacity=\".3\"/>%n",
          LEFT, WIDTH - RIGHT, y, y);
      svg.format("<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>%n", LEFT - 6, y + 4, label);
    }
    List<Double> loads = series.values().iterator().next().stream().map(Point::load).toList();
    for (double load : loads) {
      svg.format("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">&#215;%s</text>%n",
          x(load), TOP + HEIGHT + 18, ResultTable.plain(load));
    }
    svg.format("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">load</text>%n", (LEFT + WIDTH - RIGHT) / 2,
        TOP + HEIGHT + 36);
  }

  private void lines(Formatter svg) {
    int number = 0;
    for (Map.Entry<String, List<Point>> line : series.entrySet()) {
      String colour = COLOURS[number % COLOURS.length];
      String dash = number < COLOURS.length ? "" : " stroke-dasharray=\"5 3\"";
      StringBuilder path = new StringBuilder();
      for (Point point : line.getValue()) {
        path.append(String.format(Locale.ROOT, "%s%.1f,%.1f", path.isEmpty() ? "" : " ", x(point.load), y(point)));
      }
      svg.format("<g class=\"s%d\"><polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s/>%n",
          number % COLOURS.length, path, colour, dash);
      for (Point point : line.getValue()) {
        svg.format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>%s &#215;%s: %s</title></circle>%n",
            x(point.load), y(point), colour, escaped(line.getKey()), ResultTable.plain(point.load),
            rounded(point.value));
      }
      int y = TOP + 8 + number * LINE;
      svg.format("<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\"%s/>%n",
          WIDTH - RIGHT + 12, WIDTH - RIGHT + 30, y, y, colour, dash);
      svg.format("<text x=\"%d\" y=\"%d\">%s</text></g>%n", WIDTH - RIGHT + 36, y + 4, escaped(line.getKey()));
      number++;
    }
  }

  private void bars(Formatter svg) {
    int number = 0;
    for (Map.Entry<String, List<Point>> bar : series.entrySet()) {
      Point point = bar.getValue().getFirst();
      double share = (height(point) - min) / (max - min);
      int y = TOP + number * (LINE + 6);
      svg.format("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>%n", RIGHT - 8, y + 12,
          escaped(bar.getKey()));
      svg.format("<rect class=\"s%d\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"%s\"/>%n",
          number % COLOURS.length, RIGHT, y, Math.max(1, share * (WIDTH - RIGHT - LEFT)), LINE,
          COLOURS[number % COLOURS.length]);
      svg.format("<text x=\"%.1f\" y=\"%d\">%s</text>%n", RIGHT + 6 + Math.max(1, share * (WIDTH - RIGHT - LEFT)),
          y + 12, rounded(point.value));
      number++;
    }
  }

  private double x(double load) {
    return LEFT + 12 + (WIDTH - RIGHT - LEFT - 24) * (load - firstLoad) / (lastLoad - firstLoad);
  }

  private double y(Point point) {
    return TOP + HEIGHT * (1 - (height(point) - min) / (max - min));
  }

  /** The position of a value on the axis; an unmeasured one is at the bottom. */
  private double height(Point point) {
    double value = axis == Axis.SHARE ? point.value : Math.log10(point.value);
    return Double.isFinite(value) ? Math.clamp(value, min, max) : min;
  }

  private static String rounded(double value) {
    String format = value < 1.5 ? "%.3f" : value < 9.95 ? "%.1f" : "%.0f";
    return Double.isFinite(value) ? String.format(Locale.ROOT, format, value) : "none";
  }

  /** A text with the characters replaced that mean something in XML and HTML. */
  static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
  }
}
