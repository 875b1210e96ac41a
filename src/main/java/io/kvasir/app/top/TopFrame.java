package io.kvasir.app.top;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.app.terminal.Style;
import io.kvasir.app.terminal.StyledLine;
import io.kvasir.app.terminal.TerminalSize;
import java.util.ArrayList;
import java.util.List;

/** One frame of {@code kvasir top}: the strip, problems, map, list and keys, in as many lines as there are. */
final class TopFrame {
  private static final String KEYS =
      "q quit  f p w c k e b t figure  n name  s state  r reverse  Tab map/list  arrows";

  private final boolean symbols;
  private final TerminalSize size;
  private final List<StyledLine> lines = new ArrayList<>();
  private int page = 1;

  /**
   * A frame of this size.
   *
   * @param symbols whether the terminal shows more than ASCII
   */
  TopFrame(TerminalSize size, boolean symbols) {
    this.size = size;
    this.symbols = symbols;
  }

  /**
   * Lays out a frame for a screen, no longer than that.
   *
   * @param trouble why the snapshot is old; empty when it is not
   */
  List<StyledLine> screen(FleetSnapshot fleet, TopView view, String trouble) {
    strip(fleet);
    if (!trouble.isEmpty()) {
      lines.add(new StyledLine(size.columns()).append("! " + trouble, Style.BAD));
    }
    lines.addAll(VitalStrip.problems(fleet.vitals(), size.columns(), Math.max(1, size.lines() / 6)));
    int left = size.lines() - 1 - lines.size();
    if (view.parts() != TopView.Parts.LIST) {
      int map = view.parts() == TopView.Parts.MAP ? left : left / 2;
      int skipped = view.parts() == TopView.Parts.MAP ? view.skipped() : 0;
      lines.addAll(map(view).lines(fleet.workers(), skipped, map));
      left = size.lines() - 1 - lines.size();
    }
    if (view.parts() != TopView.Parts.MAP) {
      page = Math.max(1, left - 1);
      lines.addAll(list(fleet, view).lines(left));
    }
    return fitted();
  }

  /** Lays out a frame with all of the fleet, however long. */
  List<StyledLine> whole(FleetSnapshot fleet, TopView view) {
    strip(fleet);
    lines.addAll(VitalStrip.problems(fleet.vitals(), size.columns(), Integer.MAX_VALUE));
    lines.add(new StyledLine(size.columns()));
    lines.addAll(map(view).lines(fleet.workers(), 0, Integer.MAX_VALUE));
    lines.add(new StyledLine(size.columns()));
    lines.addAll(list(fleet, view).lines(Integer.MAX_VALUE));
    return lines;
  }

  /** The workers of the list that the screen shows at once. */
  int page() {
    return page;
  }

  private void strip(FleetSnapshot fleet) {
    lines.addAll(VitalStrip.of(fleet.vitals(), size.columns()));
  }

  private HeatMap map(TopView view) {
    return new HeatMap(view.figure(), symbols, size.columns());
  }

  private WorkerList list(FleetSnapshot fleet, TopView view) {
    List<JsonNode> workers = fleet.workers();
    return new WorkerList(view, workers, size.columns());
  }

  /** Exactly as many lines as the screen has, the last one with the keys. */
  private List<StyledLine> fitted() {
    List<StyledLine> fitted = new ArrayList<>(lines.subList(0, Math.min(lines.size(), size.lines() - 1)));
    while (fitted.size() < size.lines() - 1) {
      fitted.add(new StyledLine(size.columns()));
    }
    fitted.add(new StyledLine(size.columns()).append(KEYS, Style.FAINT));
    return fitted;
  }
}
