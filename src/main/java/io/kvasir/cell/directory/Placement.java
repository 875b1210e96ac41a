package io.kvasir.cell.directory;

import java.util.regex.Pattern;

/**
 * The cell a pod was given. A model group's first cell has the group's name, the others a number behind it:
 * {@code qwen}, {@code qwen~2}, {@code qwen~3}.
 *
 * @param cell the cell's name
 * @param order grows with every change of the group: of those that are too many for a cell, the latest leave it
 */
public record Placement(String cell, long order) {
  private static final Pattern NUMBERED = Pattern.compile("(.*)~\\d{1,9}", Pattern.DOTALL);

  /** The name of a group's cell of a number, from 1 on. No two groups have a name in common. */
  public static String cell(String group, int number) {
    return number == 1 && !NUMBERED.matcher(group).matches() ? group : group + "~" + number;
  }

  /** Whether the cell is one of the group's. */
  boolean isOf(String group) {
    var numbered = NUMBERED.matcher(cell);
    return numbered.matches() ? numbered.group(1).equals(group) : cell.equals(group);
  }
}
