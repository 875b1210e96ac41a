package io.kvasir.app.terminal;

import java.util.ArrayList;
import java.util.List;

/**
 * A line of a terminal's screen: pieces of text with styles, cut off at the line's width. What is appended is text
 * whatever it holds: control characters, and those that do not take exactly one column, become question marks. One
 * thread at a time.
 */
public final class StyledLine {
  /** Above it are the first characters that take two columns. */
  private static final int LAST_NARROW = 0x10FF;

  /** Lines, arrows, blocks and geometric shapes. */
  private static final int FIRST_SYMBOL = 0x2010;

  private static final int LAST_SYMBOL = 0x25FF;

  private final int width;
  private final List<Piece> pieces = new ArrayList<>();
  private int used;

  private record Piece(String text, Style style) {}

  /** An empty line. */
  public StyledLine(int width) {
    this.width = width;
  }

  /** Appends as much of a text as there is room for. */
  public StyledLine append(String text, Style style) {
    StringBuilder shown = new StringBuilder();
    text.codePoints().limit(width - used).forEach(c -> shown.append(isOneColumn(c) ? Character.toString(c) : "?"));
    used += shown.length();
    if (!shown.isEmpty()) {
      pieces.add(new Piece(shown.toString(), style));
    }
    return this;
  }

  /** Appends unstyled text. */
  public StyledLine append(String text) {
    return append(text, Style.PLAIN);
  }

  /** Appends a text in a column of its own: cut off or filled up with blanks to its width. */
  public StyledLine column(String text, int columns, Style style) {
    int length = text.codePointCount(0, text.length());
    String cut = length <= columns ? text : text.substring(0, text.offsetByCodePoints(0, columns));
    return append(cut, style).append(" ".repeat(Math.max(0, columns - length)));
  }

  /** The columns that are left. */
  public int room() {
    return width - used;
  }

  /** The line without blanks at its end, in the colours of a palette. */
  public String show(Palette palette) {
    StringBuilder line = new StringBuilder();
    for (Piece piece : pieces) {
      line.append(palette.paint(piece.text(), piece.style()));
    }
    return line.toString().stripTrailing();
  }

  private static boolean isOneColumn(int c) {
    return switch (Character.getType(c)) {
      case Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.UNASSIGNED, Character.PRIVATE_USE,
          Character.NON_SPACING_MARK, Character.ENCLOSING_MARK, Character.COMBINING_SPACING_MARK,
          Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> false;
      default -> c <= LAST_NARROW || (c >= FIRST_SYMBOL && c <= LAST_SYMBOL);
    };
  }
}
