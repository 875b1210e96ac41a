package io.kvasir.prompt.template;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CodingErrorAction;
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

  private static final int WINDOW_CHARS = 2048;

  /** Of one character in UTF-8. */
  private static final int MOST_BYTES = 4;

  private final List<String> parts = new ArrayList<>();
  private final StringBuilder gathered = new StringBuilder();
  private int chars;

  /** A text in one part. */
  public static RenderedText of(String text) {
    RenderedText rendered = new RenderedText();
    rendered.append(text);
    return rendered;
  }

  /** Prints a text at the end. */
  public void append(String text) {
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
    CharsetEncoder encoder =
        StandardCharsets.UTF_8.newEncoder()
            .onMalformedInput(CodingErrorAction.REPLACE)
            .onUnmappableCharacter(CodingErrorAction.REPLACE);
    // The window stays in the processor's cache, so that of a long text only the result is new memory. What is left in
    // it is the first half of a surrogate pair, whose other half may begin the next part.
    CharBuffer window = CharBuffer.allocate(Math.min(chars, WINDOW_CHARS) + 1);
    ByteBuffer utf8 = ByteBuffer.allocate(chars);
    for (String part : parts) {
      int from = 0;
      while (from < part.length()) {
        int to = Math.min(part.length(), from + window.remaining());
        part.getChars(from, to, window.array(), window.position());
        window.position(window.position() + to - from).flip();
        utf8 = encoded(encoder, window, utf8, false);
        window.compact();
        from = to;
      }
    }
    utf8 = encoded(encoder, window.flip(), utf8, true);
    return utf8.hasRemaining() ? Arrays.copyOf(utf8.array(), utf8.position()) : utf8.array();
  }

  /** Encodes what is in the window; the bytes, which may be in a larger buffer then. */
  private static ByteBuffer encoded(CharsetEncoder encoder, CharBuffer window, ByteBuffer utf8, boolean last) {
    ByteBuffer out = utf8;
    while (encoder.encode(window, out, last).isOverflow()) {
      out = ByteBuffer.allocate(out.capacity() + out.capacity() / 2 + MOST_BYTES).put(out.flip());
    }
    return out;
  }

  @Override
  public String toString() {
    endGathered();
    return parts.size() == 1 ? parts.getFirst() : String.join("", parts);
  }
}
