package io.kvasir.routing;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Suggestions for misspelt names: "did you mean …?". */
public final class Spelling {
  private Spelling() {}

  /** The name with the smallest edit distance to {@code written}, null when none is near. */
  public static @Nullable String nearest(String written, Collection<String> names) {
    String nearest = null;
    int smallest = Math.max(2, written.length() / 3) + 1;
    for (String name : names) {
      int distance = distance(written, name);
      if (distance < smallest) {
        smallest = distance;
        nearest = name;
      }
    }
    return nearest;
  }

  /** "did you mean …? The scorers are …". */
  static String suggestion(String written, String plural, Collection<String> names) {
    String nearest = nearest(written, names);
    String known = plural + " are " + String.join(", ", names);
    return nearest == null ? "the " + known : "did you mean \"" + nearest + "\"? The " + known;
  }

  /**
   * The edit distance of two texts by optimal string alignment: insertions, deletions, substitutions, transpositions.
   */
  private static int distance(String a, String b) {
    int[][] d = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          d[i][j] = i + j;
          continue;
        }
        int substituted = d[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        d[i][j] = Math.min(substituted, Math.min(d[i - 1][j], d[i][j - 1]) + 1);
        if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
          d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
        }
      }
    }
    return d[a.length()][b.length()];
  }
}
