package io.kvasir.gateway.body;

import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A form in the parts of a body (RFC 7578, RFC 2046 §5.1), such as a file to be transcribed and the model that is to do
 * it. It is searched where it is and not copied. What is in a part is never taken for another part's field.
 */
final class MultipartForm {
  /** A parameter of a header; what is quoted may hold what looks like another. */
  private static final Pattern PARAMETER =
      Pattern.compile(";\\s*([^\\s=;\"]+)\\s*=\\s*(?:\"((?:[^\"\\\\]|\\\\.)*+)\"|([^;\"]*+))\\s*");
  private static final int LONGEST_BOUNDARY = 70;
  private static final String TYPE = "multipart/form-data";
  private static final String DISPOSITION = "content-disposition:";
  private static final int MAX_HEADERS = 8 << 10;
  private static final int MAX_VALUE = 1 << 10;
  private static final byte[] LINE_END = {'\r', '\n'};
  private static final byte[] BLANK_LINE = {'\r', '\n', '\r', '\n'};

  private final byte[] body;
  /** What stands before each part but the first: a line's end and the boundary. */
  private final byte[] delimiter;

  private MultipartForm(byte[] body, String boundary) {
    this.body = body;
    this.delimiter = ("\r\n--" + boundary).getBytes(StandardCharsets.ISO_8859_1);
  }

  /** Whether a body of this type is a form. */
  static boolean matches(@Nullable String contentType) {
    return contentType != null && contentType.toLowerCase(Locale.ROOT).startsWith(TYPE);
  }

  /**
   * The text of a form's field, without blanks around it; null when there is none of that name, or it is blank.
   *
   * @throws ApiException when the body is no form of that type, or has several fields of that name: an engine could
   *     take another than the router
   */
  static @Nullable String field(byte[] body, String contentType, String name) throws ApiException {
    String boundary = parameter(contentType, "boundary");
    if (boundary == null || boundary.length() > LONGEST_BOUNDARY) {
      throw malformed("its Content-Type names no boundary");
    }
    return new MultipartForm(body, boundary).field(name);
  }

  private @Nullable String field(String name) throws ApiException {
    String found = null;
    // The first delimiter may be without the line's end before it.
    int at = startsAt(delimiter, LINE_END.length, 0) ? delimiter.length - LINE_END.length : after(delimiter, 0);
    while (true) {
      if (at < 0) {
        throw malformed("a part of it does not end with its boundary");
      }
      if (at + 2 <= body.length && body[at] == '-' && body[at + 1] == '-') {
        return found;
      }
      int headers = after(LINE_END, at);
      // A part without headers begins with the blank line.
      int content = headers < 0 ? -1 : after(BLANK_LINE, headers - LINE_END.length);
      if (content < 0 || content - headers > MAX_HEADERS) {
        throw malformed("the headers of a part do not end");
      }
      int next = after(delimiter, content - LINE_END.length);
      if (next >= 0 && name.equals(name(headers, content))) {
        if (found != null) {
          throw malformed("it has the field '" + name + "' more than once");
        }
        found = value(content, next - delimiter.length);
      }
      at = next;
    }
  }

  /** The name in a part's headers, null without one. */
  private @Nullable String name(int from, int to) throws ApiException {
    String headers = new String(body, from, to - from, StandardCharsets.UTF_8);
    String found = null;
    for (String line : headers.split("\r\n", -1)) {
      if (line.toLowerCase(Locale.ROOT).startsWith(DISPOSITION)) {
        String name = parameter(line, "name");
        if (name == null || found != null) {
          throw malformed("a part of it has no plain name");
        }
        found = name;
      }
    }
    return found;
  }

  /**
   * A parameter of a header. Null where there is none or an empty one, and where readers of headers differ: when there
   * are two, when it is escaped or encoded, or when quotes are anywhere but around a value.
   */
  private static @Nullable String parameter(String header, String name) {
    String found = null;
    int first = header.indexOf(';');
    int at = first < 0 ? header.length() : first;
    Matcher parameter = PARAMETER.matcher(header);
    while (at < header.length() && !header.substring(at).strip().equals(";")) {
      if (!parameter.region(at, header.length()).lookingAt()) {
        return null;
      }
      at = parameter.end();
      String key = parameter.group(1).toLowerCase(Locale.ROOT);
      boolean quoted = parameter.group(2) != null;
      String value = quoted ? parameter.group(2) : parameter.group(3).strip();
      boolean wanted = key.equals(name);
      if (value.endsWith("\\") || key.startsWith(name + "*")
          || (wanted && (found != null || !isPlain(value, quoted)))) {
        return null;
      }
      found = wanted ? value : found;
    }
    return found;
  }

  private static boolean isPlain(String value, boolean quoted) {
    return !value.isEmpty() && value.indexOf('\\') < 0
        && (quoted || value.chars().noneMatch(Character::isWhitespace));
  }

  private @Nullable String value(int from, int to) throws ApiException {
    if (to - from > MAX_VALUE) {
      throw malformed("a field that has to be short is longer than " + MAX_VALUE + " bytes");
    }
    String value = to <= from ? "" : new String(body, from, to - from, StandardCharsets.UTF_8).strip();
    return value.isEmpty() ? null : value;
  }

  /** Where the first occurrence of {@code what} ends from {@code from} on, -1 without one. */
  private int after(byte[] what, int from) {
    int last = body.length - what.length;
    for (int at = Math.max(0, from); at <= last; at++) {
      if (body[at] == what[0] && startsAt(what, 0, at)) {
        return at + what.length;
      }
    }
    return -1;
  }

  /** Whether the rest of {@code what} from {@code skipped} on stands at {@code at}. */
  private boolean startsAt(byte[] what, int skipped, int at) {
    if (at + what.length - skipped > body.length) {
      return false;
    }
    for (int i = skipped; i < what.length; i++) {
      if (body[at + i - skipped] != what[i]) {
        return false;
      }
    }
    return true;
  }

  private static ApiException malformed(String why) {
    return new UnreadBodyException(
        UnreadBody.UNFIT,
        ApiError.of(400, "invalid_form", "The request body is not a form that can be read: %s.".formatted(why)));
  }
}
