package io.kvasir.gateway.body;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.io.IOContext;
import com.fasterxml.jackson.core.json.UTF8StreamJsonParser;
import com.fasterxml.jackson.core.sym.ByteQuadsCanonicalizer;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Jackson's parser of JSON in UTF-8 with another way to read texts, which are nearly all of a conversation: their end
 * is searched eight bytes at a time and their bytes become a string at once. A text that this does not understand,
 * malformed ones among them, is left to Jackson from its beginning. One thread at a time.
 */
final class TextParser extends UTF8StreamJsonParser {
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int STRIDE = 4 * Long.BYTES;
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHS = 0x8080808080808080L;
  private static final long QUOTES = '"' * ONES;
  private static final long BACKSLASHES = '\\' * ONES;
  private static final long BLANKS = ' ' * ONES;

  /** Added to a byte of ASCII it sets the highest bit, unless that byte is zero. */
  private static final long UNLESS_ZERO = 0x7f * ONES;

  /** Added to a byte of ASCII it sets the highest bit, unless that byte is a control character. */
  private static final long UNLESS_CONTROL = 0x60 * ONES;

  /** What {@link String} makes of bytes that are not UTF-8. */
  private static final int REPLACEMENT = 0xfffd;

  /** Bytes of a text with escapes, as far as they have been read. */
  private byte[] unescaped = new byte[0];
  private int size;

  private TextParser(IOContext context, int features, ByteQuadsCanonicalizer names, byte[] json, int start, int end) {
    super(context, features, null, null, names, json, start, end, 0, false);
  }

  /** A factory of such parsers for arrays of UTF-8, and of Jackson's own for everything else. */
  static final class Factory extends JsonFactory {
    private static final long serialVersionUID = 1L;

    Factory(JsonFactoryBuilder builder) {
      super(builder);
    }

    @Override
    protected JsonParser _createParser(byte[] json, int start, int length, IOContext context) throws IOException {
      // By its first two bytes it is neither UTF-16 nor UTF-32, and has no mark.
      if (length < 2 || json[start] <= 0 || json[start + 1] == 0) {
        return super._createParser(json, start, length, context);
      }
      context.setEncoding(JsonEncoding.UTF8);
      return new TextParser(
          context, _parserFeatures, _byteSymbolCanonicalizer.makeChildOrPlaceholder(_factoryFeatures), json, start,
          start + length);
    }
  }

  @Override
  protected String _finishAndReturnString() throws IOException {
    String text = text(_inputPtr);
    if (text == null) {
      return super._finishAndReturnString();
    }
    _textBuffer.resetWithString(text);
    return text;
  }

  /** The text that begins at {@code start}, with the parser after its end; null for Jackson to read it. */
  private @Nullable String text(int start) {
    size = 0;
    long highs = 0;
    int run = start;
    int at = start;
    while (true) {
      long found = 0;
      at = afterPlain(_inputBuffer, at, _inputEnd);
      while (at + Long.BYTES <= _inputEnd) {
        long eight = (long) LONG.get(_inputBuffer, at);
        if (isPlain(eight)) {
          at += Long.BYTES;
          continue;
        }
        found = zeros(eight ^ QUOTES) | zeros(eight ^ BACKSLASHES) | ((eight - BLANKS) & ~eight & HIGHS);
        if (found != 0) {
          int plain = Long.numberOfTrailingZeros(found) >>> 3;
          highs |= plain == 0 ? 0 : eight << (Long.SIZE - Byte.SIZE * plain);
          at += plain;
          break;
        }
        highs |= eight;
        at += Long.BYTES;
      }
      while (found == 0 && at < _inputEnd && !ends(_inputBuffer[at])) {
        highs |= _inputBuffer[at] < 0 ? HIGHS : 0;
        at++;
      }
      if (at >= _inputEnd) {
        return null;
      }
      if (_inputBuffer[at] == '"') {
        String text = size == 0 ? string(_inputBuffer, run, at, highs) : string(run, at, highs);
        if (text != null) {
          _inputPtr = at + 1;
        }
        return text;
      }
      if (_inputBuffer[at] != '\\') {
        return null;
      }
      add(run, at);
      at = unescape(at + 1);
      if (at < 0) {
        return null;
      }
      // Escaped characters beyond ASCII are in UTF-8 by now.
      highs |= unescaped[size - 1];
      run = at;
    }
  }

  /** Passes plain bytes, {@value #STRIDE} at a time, with one branch for all of them. */
  private static int afterPlain(byte[] bytes, int from, int to) {
    int at = from;
    while (at <= to - STRIDE
        && (plain((long) LONG.get(bytes, at))
                & plain((long) LONG.get(bytes, at + 8))
                & plain((long) LONG.get(bytes, at + 16))
                & plain((long) LONG.get(bytes, at + 24))
                & HIGHS)
            == HIGHS) {
      at += STRIDE;
    }
    return at;
  }

  /** Whether eight bytes are all ASCII, and none of them ends or escapes anything. */
  private static boolean isPlain(long eight) {
    return (plain(eight) & HIGHS) == HIGHS;
  }

  /** The highest bits of those of eight bytes that are plain; others may be set where one is beyond ASCII. */
  private static long plain(long eight) {
    return ((eight ^ QUOTES) + UNLESS_ZERO) & ((eight ^ BACKSLASHES) + UNLESS_ZERO) & (eight + UNLESS_CONTROL) & ~eight;
  }

  private static long zeros(long eight) {
    return (eight - ONES) & ~eight & HIGHS;
  }

  private static boolean ends(byte b) {
    return b == '"' || b == '\\' || (b >= 0 && b < ' ');
  }

  private static @Nullable String string(byte[] bytes, int from, int to, long highs) {
    if ((highs & HIGHS) == 0) {
      return new String(bytes, from, to - from, StandardCharsets.ISO_8859_1);
    }
    String text = new String(bytes, from, to - from, StandardCharsets.UTF_8);
    return text.indexOf(REPLACEMENT) < 0 ? text : null;
  }

  private @Nullable String string(int run, int to, long highs) {
    add(run, to);
    return string(unescaped, 0, size, highs);
  }

  private void add(int from, int to) {
    reserve(to - from);
    System.arraycopy(_inputBuffer, from, unescaped, size, to - from);
    size += to - from;
  }

  private void reserve(int more) {
    if (more > unescaped.length - size) {
      unescaped = Arrays.copyOf(unescaped, Math.max(size + more, 2 * unescaped.length));
    }
  }

  /** Adds the character whose escape has its letter at {@code at}; returns where that ends, -1 if it is none. */
  private int unescape(int at) {
    if (at >= _inputEnd) {
      return -1;
    }
    reserve(Integer.BYTES);
    byte letter = _inputBuffer[at];
    int plain =
        switch (letter) {
          case 'n' -> '\n';
          case '"', '\\', '/' -> letter;
          case 't' -> '\t';
          case 'r' -> '\r';
          case 'b' -> '\b';
          case 'f' -> '\f';
          default -> -1;
        };
    if (plain >= 0) {
      unescaped[size++] = (byte) plain;
      return at + 1;
    }
    if (letter != 'u') {
      return -1;
    }
    int unit = unit(at + 1);
    if (unit < 0 || Character.isLowSurrogate((char) unit)) {
      return -1;
    }
    if (!Character.isHighSurrogate((char) unit)) {
      addCodePoint(unit);
      return at + 5;
    }
    int next = at + 5;
    if (next + 1 >= _inputEnd || _inputBuffer[next] != '\\' || _inputBuffer[next + 1] != 'u') {
      return -1;
    }
    int low = unit(next + 2);
    if (low < 0 || !Character.isLowSurrogate((char) low)) {
      return -1;
    }
    addCodePoint(Character.toCodePoint((char) unit, (char) low));
    return next + 6;
  }

  /** The four hexadecimal digits at {@code at}, -1 if they are none. */
  private int unit(int at) {
    if (at + 4 > _inputEnd) {
      return -1;
    }
    int unit = 0;
    for (int i = at; i < at + 4; i++) {
      int digit = Character.digit(_inputBuffer[i], 16);
      if (digit < 0) {
        return -1;
      }
      unit = 16 * unit + digit;
    }
    return unit;
  }

  private void addCodePoint(int codePoint) {
    if (codePoint < 0x80) {
      unescaped[size++] = (byte) codePoint;
      return;
    }
    int more = codePoint < 0x800 ? 1 : codePoint < 0x10000 ? 2 : 3;
    unescaped[size++] = (byte) ((0xff00 >> (more + 1)) | (codePoint >> (6 * more)));
    for (int i = more - 1; i >= 0; i--) {
      unescaped[size++] = (byte) (0x80 | ((codePoint >> (6 * i)) & 0x3f));
    }
  }
}
