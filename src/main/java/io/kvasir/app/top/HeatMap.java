package io.kvasir.app.top;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.app.terminal.Style;
import io.kvasir.app.terminal.StyledLine;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A tile for each worker, in the order of their names, grouped by cell: its shade and colour are the degree of one
 * figure, so that what stands out in a fleet is seen before it is read.
 */
final class HeatMap {
  private static final int MOST_LABEL = 24;
  private static final List<Style> HEAT = List.of(Style.COLD, Style.COOL, Style.TEPID, Style.WARM, Style.HOT);

  private final WorkerFigure figure;
  private final String shades;
  private final int width;

  /**
   * A map.
   *
   * @param symbols whether the terminal has blocks of different heights, beyond ASCII
   */
  HeatMap(WorkerFigure figure, boolean symbols, int width) {
    this.figure = figure;
    this.shades = symbols ? "·▂▄▆█" : ".-+*#";
    this.width = width;
  }

  /** How hot a figure is, as a style. */
  static Style heat(int degree) {
    return HEAT.get(degree);
  }

  /**
   * The legend, and lines of tiles below it.
   *
   * @param skipped lines of tiles that are above the screen
   * @param most lines at most; where there are more, the last says how many workers are below
   */
  List<StyledLine> lines(List<JsonNode> workers, int skipped, int most) {
    List<Row> rows = rows(workers);
    int room = Math.max(1, most - 1);
    int from = Math.min(skipped, Math.max(0, rows.size() - room));
    boolean cut = rows.size() - from > room;
    int to = Math.min(rows.size(), from + (cut ? room - 1 : room));
    int label = label(rows);
    double scale = figure.scale(workers);
    List<StyledLine> lines = new ArrayList<>();
    lines.add(legend());
    rows.subList(from, to).forEach(row -> lines.add(line(row, label, scale)));
    if (cut) {
      int below = rows.subList(to, rows.size()).stream().mapToInt(row -> row.workers().size()).sum();
      lines.add(new StyledLine(width).append("%d more workers".formatted(below), Style.FAINT));
    }
    return lines;
  }

  /** The workers whose tiles share a line, all of one cell. */
  private record Row(String label, List<JsonNode> workers) {}

  private List<Row> rows(List<JsonNode> workers) {
    Map<String, List<JsonNode>> cells =
        workers.stream()
            .sorted(Comparator.comparing(worker -> worker.path("id").asText()))
            .collect(Collectors.groupingBy(worker -> worker.path("cell").asText(), TreeMap::new, Collectors.toList()));
    int longest = cells.keySet().stream().mapToInt(String::length).max().orElse(0);
    int tiles = Math.max(1, width - Math.min(mostLabel(), longest) - 1);
    List<Row> rows = new ArrayList<>();
    cells.forEach((cell, members) -> {
      for (int from = 0; from < members.size(); from += tiles) {
        rows.add(new Row(cell, members.subList(from, Math.min(members.size(), from + tiles))));
      }
    });
    return rows;
  }

  private StyledLine line(Row row, int label, double scale) {
    StyledLine line = new StyledLine(width).column(row.label(), label, Style.FAINT).append(" ");
    row.workers().forEach(worker -> tile(line, worker, scale));
    return line;
  }

  private int label(List<Row> rows) {
    return Math.min(mostLabel(), rows.stream().mapToInt(row -> row.label().length()).max().orElse(0));
  }

  private int mostLabel() {
    return Math.min(MOST_LABEL, width / 3);
  }

  private void tile(StyledLine line, JsonNode worker, double scale) {
    WorkerState state = WorkerState.of(worker);
    switch (state) {
      case DOWN -> line.append("!", Style.BAD);
      case DRAINING, DRAINED -> line.append("d", Style.WARNING);
      case SERVING, SUSPECT -> {
        int degree = figure.degree(worker, scale);
        line.append(Double.isNaN(figure.of(worker)) ? " " : shade(degree), heat(degree));
      }
    }
  }

  private StyledLine legend() {
    StyledLine line = new StyledLine(width).append(figure.heading() + " by cell", Style.STRONG).append("   less ");
    for (int degree = 0; degree <= WorkerFigure.HOTTEST; degree++) {
      line.append(shade(degree), heat(degree));
    }
    return line.append(" more   ").append("!", Style.BAD).append(" down   ").append("d", Style.WARNING)
        .append(" draining");
  }

  private String shade(int degree) {
    return shades.substring(degree, degree + 1);
  }
}
