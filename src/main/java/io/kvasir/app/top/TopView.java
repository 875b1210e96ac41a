package io.kvasir.app.top;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Comparator;
import java.util.List;

/**
 * What the keys have chosen to see. Immutable.
 *
 * @param figure what the map shows
 * @param order how the list is sorted
 * @param reversed whether the list is the other way round
 * @param parts what is on the screen below the vital figures
 * @param skipped how many workers of the list are above the screen
 */
record TopView(WorkerFigure figure, ListOrder order, boolean reversed, Parts parts, int skipped) {
  static final TopView INITIAL = new TopView(WorkerFigure.IN_FLIGHT, ListOrder.FIGURE, false, Parts.BOTH, 0);

  /** Which parts are shown. */
  enum Parts {
    BOTH,
    LIST,
    MAP;

    Parts next() {
      return switch (this) {
        case BOTH -> LIST;
        case LIST -> MAP;
        case MAP -> BOTH;
      };
    }
  }

  TopView by(WorkerFigure chosen) {
    return new TopView(chosen, ListOrder.FIGURE, reversed, parts, 0);
  }

  /** The view after a key; the same for keys that mean nothing. */
  TopView after(TopKey key, int workers, int page) {
    return switch (key) {
      case TopKey.Scroll scroll -> at(skipped + scroll.lines(page), workers);
      case TopKey.Choose choose -> by(choose.figure());
      case TopKey.Sort sort -> new TopView(figure, sort.order(), reversed, parts, 0);
      case TopKey.Reverse _ -> new TopView(figure, order, !reversed, parts, 0);
      case TopKey.NextParts _ -> new TopView(figure, order, reversed, parts.next(), 0);
      case TopKey.Quit _, TopKey.Other _ -> this;
    };
  }

  /** The workers in the order of the list. */
  List<JsonNode> sorted(List<JsonNode> workers) {
    Comparator<JsonNode> names = Comparator.comparing(worker -> worker.path("id").asText());
    Comparator<JsonNode> sorting =
        switch (order) {
          case FIGURE -> Comparator.comparingDouble(figure::heat).reversed().thenComparing(names);
          case NAME -> names;
          case STATE -> Comparator.comparing(WorkerState::of).reversed().thenComparing(names);
        };
    return workers.stream().sorted(reversed ? sorting.reversed() : sorting).toList();
  }

  private TopView at(int line, int workers) {
    return new TopView(figure, order, reversed, parts, Math.clamp(line, 0, Math.max(0, workers - 1)));
  }
}
