package io.kvasir.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The number of engines of each role in a fleet.
 *
 * @param both engines that prefill and decode
 * @param prefill engines that only prefill
 * @param decode engines that only decode
 */
public record Pools(int both, int prefill, int decode) {
  private static final Pattern WRITTEN = Pattern.compile("(?:(\\d{1,4}))?\\+?(?:(\\d{1,4})P\\+(\\d{1,4})D)?");

  /**
   * Reads {@code 8}, {@code 5P+3D} or {@code 2+4P+2D}.
   *
   * @throws IllegalArgumentException when it has another form
   */
  public static Pools parse(String written) {
    Matcher parts = WRITTEN.matcher(written.strip());
    if (written.isBlank() || !parts.matches()) {
      throw new IllegalArgumentException(
          "has to be a number such as 8, or prefill and decode engines such as 5P+3D, not " + written);
    }
    return new Pools(number(parts.group(1)), number(parts.group(2)), number(parts.group(3)));
  }

  private static int number(@Nullable String digits) {
    return digits == null ? 0 : Integer.parseInt(digits);
  }

  /** The number of engines; by slot prefill engines come first, then decode engines, then the others. */
  public int size() {
    return both + prefill + decode;
  }

  /** Whether a slot's engine only prefills. */
  boolean isPrefill(int slot) {
    return slot < prefill;
  }

  /** Whether a slot's engine only decodes. */
  boolean isDecode(int slot) {
    return slot >= prefill && slot < prefill + decode;
  }

  @Override
  public String toString() {
    List<String> parts = new ArrayList<>();
    if (both > 0) {
      parts.add(Integer.toString(both));
    }
    if (prefill + decode > 0) {
      parts.add(prefill + "P+" + decode + "D");
    }
    return String.join("+", parts);
  }
}
