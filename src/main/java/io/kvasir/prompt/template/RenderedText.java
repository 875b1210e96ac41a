package io.kvasir.prompt.template;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A text in the parts in which it was printed. Long parts, such as the messages of a conversation, are shared and not
 * copied; the text as a whole is made in the form in which it is needed. Not thread-safe while it is appended to.
 */
public final class RenderedText {
  /** Shorter texts are gathered into one part: keeping each would take more than copying it. */
  private static final int SHARED_CHARS = 256;

  private final List<String> parts = new ArrayList<>();
  private final StringBuilder gathered = new StringBuilder();
  private int chars;

  /** A text in one part. */
  public static RenderedText of(String text) {
    RenderedText rendered = new RenderedText();
    rendered.append(text);
    return rendered;
  }

  void append(String text) {
    chars += text.length();
    if (text.length() < SHARED_CHARS) {
      gathered.append(text);
    } else {
      endGathered();
      parts.add(text);
    }
  }

  private void endGathered() {
    if (!gathered.isEmpty()) {
      parts.add(gathered.toString());
      gathered.setLength(0);
    }
  }

  /** How many characters there are. */
  public int length() {
    return chars;
  }

  /** The text in UTF-8, as {@link String#getBytes(java.nio.charset.Charset)} makes it. */
  public byte[] utf8() {
    endGathered();
    if (parts.size() == 1) {
      return parts.getFirst().getBytes(StandardCharsets.UTF_8);
    }
    byte[] utf8 = new byte[chars];
    int size = 0;
    for (String part : parts) {
      if (Character.isHighSurrogate(part.charAt(part.length() - 1))) {
        // Its other half may begin the next part.
        return toString().getBytes(StandardCharsets.UTF_8);
      }
      byte[] more = part.getBytes(StandardCharsets.UTF_8);
      if (more.length > utf8.length - size) {
        utf8 = Arrays.copyOf(utf8, Math.max(size + more.length, utf8.length + utf8.length / 2));
      }
      System.arraycopy(more, 0, utf8, size, more.length);
      size += more.length;
    }
    return size == utf8.length ? utf8 : Arrays.copyOf(utf8, size);
  }

  @Override
  public String toString() {
    endGathered();
    return parts.size() == 1 ? parts.getFirst() : String.join("", parts);
  }
}
