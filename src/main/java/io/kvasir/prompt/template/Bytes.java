package io.kvasir.prompt.template;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.AbstractList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import java.util.RandomAccess;

/** Python's bytes, which {@code str.encode()} makes: a sequence of integers. */
final class Bytes extends AbstractList<Object> implements RandomAccess {
  private static final HexFormat HEX = HexFormat.of();
  /** By their names in Python, in lower case and with hyphens. */
  private static final Map<String, Charset> ENCODINGS = Map.ofEntries(
      Map.entry("utf-8", StandardCharsets.UTF_8), Map.entry("utf8", StandardCharsets.UTF_8),
      Map.entry("ascii", StandardCharsets.US_ASCII), Map.entry("us-ascii", StandardCharsets.US_ASCII),
      Map.entry("latin-1", StandardCharsets.ISO_8859_1), Map.entry("latin1", StandardCharsets.ISO_8859_1),
      Map.entry("iso-8859-1", StandardCharsets.ISO_8859_1), Map.entry("utf-16-le", StandardCharsets.UTF_16LE),
      Map.entry("utf-16le", StandardCharsets.UTF_16LE), Map.entry("utf-16-be", StandardCharsets.UTF_16BE),
      Map.entry("utf-16be", StandardCharsets.UTF_16BE), Map.entry("utf-32-le", StandardCharsets.UTF_32LE),
      Map.entry("utf-32le", StandardCharsets.UTF_32LE), Map.entry("utf-32-be", StandardCharsets.UTF_32BE),
      Map.entry("utf-32be", StandardCharsets.UTF_32BE));

  private final byte[] bytes;

  private Bytes(byte[] bytes) {
    this.bytes = bytes;
  }

  /** {@code text.encode(encoding, errors)}. */
  static Bytes encode(RenderContext render, String text, String encoding, String errors) {
    // Four bytes a character at most.
    render.reserve(2L * text.length());
    String name = Text.lower(encoding).replace('_', '-');
    boolean marked = name.equals("utf-16") || name.equals("utf-32");
    CharsetEncoder encoder = charset(marked ? name + "-le" : name, encoding).newEncoder();
    String marks = marked ? "\ufeff" : "";
    try {
      return new Bytes(bytes(encoder.encode(CharBuffer.wrap(marks + text))));
    } catch (CharacterCodingException e) {
      render.reserve(12L * text.length());
      StringBuilder replaced = new StringBuilder(marks);
      text.codePoints().forEach(c -> {
        if (isIn(encoder.charset(), c)) {
          replaced.appendCodePoint(c);
        } else {
          replaced.append(replacement(c, encoding, errors));
        }
      });
      return new Bytes(replaced.toString().getBytes(encoder.charset()));
    }
  }

  /** Whether an encoding has a character: an encoder that is asked makes an exception for each that it has not. */
  private static boolean isIn(Charset charset, int c) {
    int end = charset.equals(StandardCharsets.US_ASCII) ? 0x80
        : charset.equals(StandardCharsets.ISO_8859_1) ? 0x100 : Character.MAX_CODE_POINT + 1;
    return c < end && (c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE);
  }

  private static String replacement(int c, String encoding, String errors) {
    return switch (errors) {
      case "ignore" -> "";
      case "replace" -> "?";
      case "xmlcharrefreplace" -> "&#" + c + ";";
      case "backslashreplace" -> c < 0x100 ? "\\x" + HEX.toHexDigits(c, 2)
          : c < 0x10000 ? "\\u" + HEX.toHexDigits(c, 4) : "\\U" + HEX.toHexDigits(c, 8);
      case "strict" -> throw new TemplateException.Evaluation(
          "'" + encoding + "' codec can't encode character U+" + Integer.toHexString(c));
      default -> throw new TemplateException.Evaluation("unknown error handler name '" + errors + "'");
    };
  }

  private static Charset charset(String name, String given) {
    Charset charset = ENCODINGS.get(name);
    if (charset == null) {
      throw new TemplateException.Evaluation("unknown encoding: " + given);
    }
    return charset;
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  /** {@code bytes.hex()}. */
  String hex(RenderContext render) {
    render.reserve(2L * bytes.length);
    return HEX.formatHex(bytes);
  }

  /** {@code bytes.decode(encoding, errors)}. */
  String decode(RenderContext render, String encoding, String errors) {
    render.reserve(bytes.length);
    CodingErrorAction action = switch (errors) {
      case "strict" -> CodingErrorAction.REPORT;
      case "ignore" -> CodingErrorAction.IGNORE;
      case "replace" -> CodingErrorAction.REPLACE;
      default -> throw new TemplateException.Evaluation("unknown error handler name '" + errors + "'");
    };
    String name = Text.lower(encoding).replace('_', '-');
    CharsetDecoder decoder = (name.equals("utf-16") ? StandardCharsets.UTF_16
        : name.equals("utf-32") ? StandardCharsets.UTF_32 : charset(name, encoding)).newDecoder();
    try {
      return decoder.onMalformedInput(action).onUnmappableCharacter(action).decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new TemplateException.Evaluation("'" + encoding + "' codec can't decode these bytes");
    }
  }

  /** The bytes from {@code from} to before {@code to}. */
  Bytes slice(RenderContext render, int from, int to) {
    render.reserve(to - from);
    return new Bytes(Arrays.copyOfRange(bytes, from, to));
  }

  /** Python's {@code repr()}. */
  String repr(RenderContext render) {
    render.reserve(4L * bytes.length);
    StringBuilder out = new StringBuilder();
    boolean single = false;
    boolean twice = false;
    for (byte b : bytes) {
      single |= b == '\'';
      twice |= b == '"';
    }
    char quote = single && !twice ? '"' : '\'';
    out.append('b').append(quote);
    for (byte b : bytes) {
      switch (b) {
        case '\n' -> out.append("\\n");
        case '\r' -> out.append("\\r");
        case '\t' -> out.append("\\t");
        case '\\' -> out.append("\\\\");
        default -> {
          if (b == quote) {
            out.append('\\').append(quote);
          } else if (b >= ' ' && b < 0x7f) {
            out.append((char) b);
          } else {
            out.append("\\x").append(HEX.toHexDigits(b));
          }
        }
      }
    }
    return out.append(quote).toString();
  }

  @Override
  public Object get(int index) {
    return (long) (bytes[Objects.checkIndex(index, bytes.length)] & 0xff);
  }

  @Override
  public int size() {
    return bytes.length;
  }
}
