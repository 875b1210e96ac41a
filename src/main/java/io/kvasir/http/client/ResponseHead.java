package io.kvasir.http.client;

import io.kvasir.http.Headers;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The head of a pod's answer.
 *
 * @param persistent whether the pod keeps the connection for further requests
 */
record ResponseHead(int status, Headers headers, boolean persistent) {
  /** Longest head that is read, in bytes. */
  static final int MAX_BYTES = 64 << 10;

  private static final int SWITCHING = 101;

  /** Whether the connection has left HTTP. */
  boolean isUpgraded() {
    return status == SWITCHING;
  }

  /**
   * Reads a head (RFC 9112 §4, §5); lines may end without a carriage return.
   *
   * @param to just behind the empty line
   */
  static ResponseHead parse(byte[] bytes, int from, int to) throws MalformedResponseException {
    int lineEnd = endOfLine(bytes, from, to);
    if (lineEnd - from < 12
        || !ascii(bytes, from, from + 7).equals("HTTP/1.")
        || bytes[from + 8] != ' ') {
      throw new MalformedResponseException("the answer does not begin with an HTTP/1.1 status line");
    }
    boolean current = bytes[from + 7] != '0';
    int status = 0;
    for (int i = from + 9; i < from + 12; i++) {
      int digit = bytes[i] - '0';
      if (digit < 0 || digit > 9) {
        throw new MalformedResponseException("the answer's status is not a number");
      }
      status = status * 10 + digit;
    }
    if (status < 100 || status > 599) {
      throw new MalformedResponseException("the answer's status is " + status);
    }
    Headers.Builder headers = Headers.builder();
    int at = nextLine(bytes, lineEnd, to);
    while (at < to) {
      int end = endOfLine(bytes, at, to);
      if (end == at) {
        break;
      }
      field(bytes, at, end, headers);
      at = nextLine(bytes, end, to);
    }
    Headers fields = headers.build();
    boolean persistent =
        current ? !fields.hasToken("Connection", "close") : fields.hasToken("Connection", "keep-alive");
    return new ResponseHead(status, fields, persistent);
  }

  private static void field(byte[] bytes, int from, int to, Headers.Builder headers) throws MalformedResponseException {
    int colon = from;
    while (colon < to && bytes[colon] != ':') {
      if (bytes[colon] <= ' ') {
        throw new MalformedResponseException("a header's name has a blank in it");
      }
      colon++;
    }
    if (colon == from || colon == to) {
      throw new MalformedResponseException("a header without a name");
    }
    int begin = colon + 1;
    int end = to;
    while (begin < end && isBlank(bytes[begin])) {
      begin++;
    }
    while (end > begin && isBlank(bytes[end - 1])) {
      end--;
    }
    headers.add(ascii(bytes, from, colon), ascii(bytes, begin, end));
  }

  private static boolean isBlank(byte b) {
    return b == ' ' || b == '\t';
  }

  private static String ascii(byte[] bytes, int from, int to) {
    return new String(bytes, from, to - from, StandardCharsets.ISO_8859_1);
  }

  /** Where the line's characters end. */
  private static int endOfLine(byte[] bytes, int from, int to) {
    for (int i = from; i < to; i++) {
      if (bytes[i] == '\n') {
        return i > from && bytes[i - 1] == '\r' ? i - 1 : i;
      }
    }
    return to;
  }

  private static int nextLine(byte[] bytes, int end, int to) {
    int at = end;
    if (at < to && bytes[at] == '\r') {
      at++;
    }
    return Math.min(to, at + 1);
  }

  /** How the body of this answer to a request with {@code method} ends (RFC 9112 §6.3). */
  BodyFraming framing(String method) throws MalformedResponseException {
    if (status == SWITCHING) {
      return new BodyFraming.UntilClose();
    }
    if (method.equals("HEAD") || status == 204 || status == 304) {
      return new BodyFraming.FixedLength(0);
    }
    if (headers.has("Transfer-Encoding")) {
      if (headers.hasToken("Transfer-Encoding", "chunked")) {
        return new BodyFraming.Chunked();
      }
      throw new MalformedResponseException("transfer coding " + headers.first("Transfer-Encoding")
          + " is not understood");
    }
    Long length = contentLength();
    return length == null ? new BodyFraming.UntilClose() : new BodyFraming.FixedLength(length);
  }

  private @Nullable Long contentLength() throws MalformedResponseException {
    String found = null;
    for (int i = 0; i < headers.size(); i++) {
      if (headers.name(i).equalsIgnoreCase("Content-Length")) {
        if (found != null && !found.equals(headers.value(i))) {
          throw new MalformedResponseException("two different Content-Lengths");
        }
        found = headers.value(i);
      }
    }
    if (found == null) {
      return null;
    }
    if (found.isEmpty() || found.length() > 18 || !isDigits(found)) {
      throw new MalformedResponseException("Content-Length " + found + " is not a length");
    }
    return Long.valueOf(found);
  }

  private static boolean isDigits(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return false;
      }
    }
    return true;
  }
}
