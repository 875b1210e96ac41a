package io.kvasir.app.top;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.app.terminal.Style;
import io.kvasir.app.terminal.StyledLine;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** A line for each worker: its name, its state and its figures, each as hot as the map would show it. */
final class WorkerList {
  private static final int LEAST_NAME = 12;
  private static final int MOST_NAME = 40;
  private static final int STATE = 10;
  private static final int CELL = 20;
  private static final int FIGURE = 8;

  private final TopView view;
  private final List<JsonNode> workers;
  private final int width;
  private final int name;
  private final int cell;
  private final int state;
  private final Map<WorkerFigure, Double> scales = new EnumMap<>(WorkerFigure.class);

  WorkerList(TopView view, List<JsonNode> workers, int width) {
    this.view = view;
    this.workers = workers;
    this.width = width;
    int longest = workers.stream().mapToInt(worker -> worker.path("id").asText().length()).max().orElse(0);
    int room = width - STATE - 1 - WorkerFigure.values().length * FIGURE;
    name = Math.clamp(Math.max(LEAST_NAME, room), LEAST_NAME, Math.clamp(longest, LEAST_NAME, MOST_NAME));
    cell = room - name > CELL ? CELL : 0;
    // What is left tells why a worker is down.
    state = Math.max(STATE, STATE + room - name - (cell > 0 ? cell + 1 : 0) - 1);
    for (WorkerFigure figure : WorkerFigure.values()) {
      scales.put(figure, figure.scale(workers));
    }
  }

  /** The heading and so many workers at most, from where the view has got to. */
  List<StyledLine> lines(int most) {
    List<StyledLine> lines = new ArrayList<>();
    lines.add(heading());
    view.sorted(workers).stream().skip(view.skipped()).limit(Math.max(0, most - 1)).map(this::line).forEach(lines::add);
    return lines;
  }

  private StyledLine heading() {
    StyledLine line = new StyledLine(width).column("WORKER", name, emphasis(ListOrder.NAME));
    if (cell > 0) {
      line.append(" ").column("CELL", cell, Style.FAINT);
    }
    line.append(" ").column("STATE", state, emphasis(ListOrder.STATE));
    for (WorkerFigure figure : WorkerFigure.values()) {
      boolean chosen = figure == view.figure();
      line.append(right(FIGURE, (chosen ? ">" : "") + figure.heading()), chosen ? Style.STRONG : Style.FAINT);
    }
    return line;
  }

  private Style emphasis(ListOrder order) {
    return view.order() == order ? Style.STRONG : Style.FAINT;
  }

  private StyledLine line(JsonNode worker) {
    StyledLine line = new StyledLine(width).column(worker.path("id").asText(), name, Style.PLAIN);
    if (cell > 0) {
      line.append(" ").column(worker.path("cell").asText(), cell, Style.FAINT);
    }
    line.append(" ");
    state(line, worker);
    for (WorkerFigure figure : WorkerFigure.values()) {
      Style heat = HeatMap.heat(figure.degree(worker, scales.getOrDefault(figure, 1.0)));
      line.append(" ").append(right(FIGURE - 1, figure.text(worker)), heat);
    }
    return line;
  }

  private void state(StyledLine line, JsonNode worker) {
    switch (WorkerState.of(worker)) {
      case SERVING -> line.column("serving", state, Style.GOOD);
      case SUSPECT -> line.column("suspect", state, Style.WARNING);
      case DRAINING -> line.column("draining", state, Style.WARNING);
      case DRAINED -> line.column("drained", state, Style.WARNING);
      case DOWN -> {
        String why = worker.path("why").asText("");
        line.column(worker.path("health").asText() + (why.isEmpty() ? "" : ": " + why), state, Style.BAD);
      }
    }
  }

  private static String right(int columns, String text) {
    return " ".repeat(Math.max(0, columns - text.length())) + text;
  }
}
