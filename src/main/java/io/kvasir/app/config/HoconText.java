package io.kvasir.app.config;

import com.typesafe.config.ConfigUtil;
import java.util.Collection;
import java.util.stream.Collectors;

/** Writes HOCON with comments, indented. What is written is data, whatever it holds. One thread at a time. */
public final class HoconText {
  private static final int WIDTH = 118;

  private final StringBuilder text = new StringBuilder();
  private int depth;

  /** A comment in as many lines as it needs. */
  public HoconText comment(String words) {
    StringBuilder line = new StringBuilder();
    for (String word : words.replaceAll("\\p{Cntrl}", " ").split(" ", -1)) {
      if (line.length() > 0 && 2 * depth + 2 + line.length() + 1 + word.length() > WIDTH) {
        line("# " + line);
        line.setLength(0);
      }
      line.append(line.isEmpty() ? "" : " ").append(word);
    }
    return line(line.isEmpty() ? "#" : "# " + line);
  }

  /** A setting as a comment, for those who want it. */
  public HoconText suggestion(String setting) {
    return line("# " + setting.replaceAll("\\p{Cntrl}", " "));
  }

  /** A text, quoted. */
  public HoconText value(String key, String value) {
    return line(key + " = " + ConfigUtil.quoteString(value));
  }

  /** A number. */
  public HoconText value(String key, long value) {
    return line(key + " = " + value);
  }

  /** A list of texts, quoted. */
  public HoconText values(String key, Collection<String> values) {
    return line(key + values.stream().map(ConfigUtil::quoteString).collect(Collectors.joining(", ", " = [", "]")));
  }

  /** A word of the configuration's own, such as that of a choice. */
  public HoconText choice(String key, String word) {
    return line(key + " = " + word);
  }

  /** An element of a list, on a line of its own. */
  public HoconText element(String element) {
    return line(element);
  }

  /** Opens a section, or a list of them; {@code opening} ends with its bracket. */
  public HoconText open(String opening) {
    line(opening);
    depth++;
    return this;
  }

  /** Closes a section or list with its bracket. */
  public HoconText close(String bracket) {
    depth--;
    return line(bracket);
  }

  /** An empty line. */
  public HoconText blank() {
    text.append('\n');
    return this;
  }

  @Override
  public String toString() {
    return text.toString();
  }

  private HoconText line(String line) {
    text.append("  ".repeat(depth)).append(line).append('\n');
    return this;
  }
}
