package io.kvasir.app.terminal;

import java.util.ArrayList;
import java.util.List;

/** A table for people, its columns as wide as what stands in them. One thread at a time. */
public final class Table {
  private static final String GAP = "  ";

  private final List<List<String>> lines = new ArrayList<>();

  /** A table with these headings. */
  public Table(String... headings) {
    lines.add(List.of(headings));
  }

  /** Adds a row, with a text for each heading. */
  public void row(String... cells) {
    if (cells.length != lines.getFirst().size()) {
      throw new IllegalArgumentException("%d cells for %d headings".formatted(cells.length, lines.getFirst().size()));
    }
    lines.add(List.of(cells));
  }

  /** The table's lines; without rows, a note that there are none. */
  @Override
  public String toString() {
    int[] widths = new int[lines.getFirst().size()];
    for (List<String> line : lines) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], line.get(i).length());
      }
    }
    StringBuilder text = new StringBuilder();
    for (List<String> line : lines) {
      StringBuilder row = new StringBuilder();
      for (int i = 0; i < widths.length; i++) {
        row.append(line.get(i)).repeat(" ", widths[i] - line.get(i).length()).append(GAP);
      }
      text.append(row.toString().stripTrailing()).append('\n');
    }
    return lines.size() == 1 ? text.append("none\n").toString() : text.toString();
  }
}
