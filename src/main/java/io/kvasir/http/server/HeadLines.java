package io.kvasir.http.server;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The lines of a request's head, checked strictly by RFC 9112, and what they say about how the message is to be read:
 * what this accepts, every recipient reads in the same way. One thread at a time.
 */
final class HeadLines {
  private static final int MAX_TARGET_BYTES = 8 << 10;
  private static final int MAX_NAME_BYTES = 256;
  private static final int MAX_VALUE_BYTES = 16 << 10;
  private static final int MAX_FIELDS = 128;

  /** Method, version and blanks of a request line. */
  private static final int MAX_LINE_REST = 64;

  /** Beyond 18 digits a length would not fit. */
  private static final int MAX_LENGTH_DIGITS = 18;

  private static final byte[] HOST = ascii("host");
  private static final byte[] EXPECT = ascii("expect");
  private static final byte[] CONNECTION = ascii("connection");
  private static final byte[] CONTENT_TYPE = ascii("content-type");
  private static final byte[] CONTENT_LENGTH = ascii("content-length");
  private static final byte[] CONTENT_ENCODING = ascii(ContentCoding.HEADER);
  private static final byte[] TRANSFER_ENCODING = ascii("transfer-encoding");
  private static final byte[] CHUNKED = ascii("chunked");
  private static final byte[] CLOSE = ascii("close");
  private static final byte[] KEEP_ALIVE = ascii("keep-alive");
  private static final byte[] POST = ascii("post");
  private static final byte[] VERSION = ascii("HTTP/1.");

  private String target = "";
  private boolean http10;
  private int fields;
  private int hosts;
  private boolean typed;
  private long length = -1;
  private int lengthFrom;
  private int lengthTo;
  private boolean posts;
  private boolean coded;
  private boolean expects;
  private boolean chunked;
  private boolean closes;
  private boolean keepsAlive;

  /** The request's target as the client sent it; empty until its line is complete. */
  String target() {
    return target;
  }

  /** The body's length in bytes, 0 without one; meaningless when it is chunked. */
  long length() {
    return Math.max(0, length);
  }

  /** Whether the body is chunked. */
  boolean isChunked() {
    return chunked;
  }

  /**
   * Whether the body can be received without Pekko, which would do no more for it than hand it on: one of known length
   * and type, not coded, whose client does not wait to be told to send it.
   */
  boolean isPlainBody() {
    return posts && length > 0 && typed && !coded && !expects;
  }

  /** Has the head announce no body, in the array that it was read from: digits become zeros. */
  void announceNoBody(byte[] in) {
    Arrays.fill(in, lengthFrom, lengthTo, (byte) '0');
  }

  /** Whether the connection is closed after the answer. */
  boolean isLast() {
    return closes || (http10 && !keepsAlive);
  }

  /** Reads the request line. */
  void requestLine(byte[] in, int from, int to) throws RefusedRequestException {
    int method = from;
    while (method < to && Characters.isToken(in[method])) {
      method++;
    }
    int path = method + 1;
    int blank = path;
    while (blank < to && Characters.isVisible(in[blank])) {
      blank++;
    }
    if (blank - path > MAX_TARGET_BYTES) {
      throw targetTooLong();
    }
    if (method == from || method >= to || in[method] != ' ' || blank == path || blank >= to || in[blank] != ' ') {
      throw malformed("its first line is not a method, a target and a version with a blank between them");
    }
    target = new String(in, path, blank - path, StandardCharsets.US_ASCII);
    if (!isPath(target) && !isUrl(target)) {
      throw malformed("its target is neither a path that begins with a slash nor an http URL");
    }
    int version = blank + 1;
    if (to - version != VERSION.length + 1 || !Arrays.equals(in, version, to - 1, VERSION, 0, VERSION.length)
        || (in[to - 1] != '0' && in[to - 1] != '1')) {
      throw new RefusedRequestException(505, "the request's version of HTTP is not supported; send HTTP/1.1");
    }
    http10 = in[to - 1] == '0';
    posts = Characters.equalsIgnoringCase(in, from, method, POST);
  }

  private static boolean isPath(String target) {
    return target.startsWith("/") || target.equals("*");
  }

  private static boolean isUrl(String target) {
    return target.regionMatches(true, 0, "http://", 0, 7) || target.regionMatches(true, 0, "https://", 0, 8);
  }

  /** Reads a header's line. */
  void field(byte[] in, int from, int to) throws RefusedRequestException {
    int colon = from;
    while (colon < to && Characters.isToken(in[colon])) {
      colon++;
    }
    if (colon == from || colon == to || in[colon] != ':') {
      throw malformed(
          in[from] == ' ' || in[from] == '\t' ? "a header is folded over several lines" : "a header's name is illegal");
    }
    int value = colon + 1;
    while (value < to && Characters.isBlank(in[value])) {
      value++;
    }
    int last = to;
    while (last > value && Characters.isBlank(in[last - 1])) {
      last--;
    }
    if (colon - from > MAX_NAME_BYTES || to - colon > MAX_VALUE_BYTES) {
      throw fieldTooLong();
    }
    checkValue(in, value, last);
    if (++fields > MAX_FIELDS) {
      throw new RefusedRequestException(431, "the request has more than the limit of " + MAX_FIELDS + " headers");
    }
    interpret(in, from, colon, value, last);
  }

  /** Pekko's parser takes the bytes behind the first one of a UTF-8 sequence unseen, the line's end among them. */
  private static void checkValue(byte[] in, int value, int last) throws RefusedRequestException {
    for (int at = value; at < last; at++) {
      if (!Characters.isText(in[at])) {
        throw malformed("the value of a header has a control character");
      }
      if (in[at] < 0) {
        int end = at + Characters.utf8Length(in[at]);
        if (end == at || end > last) {
          throw notUtf8();
        }
        for (at++; at < end; at++) {
          if (!Characters.isUtf8Continuation(in[at])) {
            throw notUtf8();
          }
        }
        at--;
      }
    }
  }

  /** Notes what a field says about how the message is to be read. */
  private void interpret(byte[] in, int name, int colon, int value, int last) throws RefusedRequestException {
    switch (colon - name) {
      case 4 -> {
        if (Characters.equalsIgnoringCase(in, name, colon, HOST)) {
          hosts++;
        }
      }
      case 6 -> expects |= Characters.equalsIgnoringCase(in, name, colon, EXPECT);
      case 10 -> {
        if (Characters.equalsIgnoringCase(in, name, colon, CONNECTION)) {
          connection(in, value, last);
        }
      }
      case 12 -> {
        if (Characters.equalsIgnoringCase(in, name, colon, CONTENT_TYPE)) {
          contentType();
        }
      }
      case 14 -> {
        if (Characters.equalsIgnoringCase(in, name, colon, CONTENT_LENGTH)) {
          contentLength(in, value, last);
        }
      }
      case 16 -> coded |= Characters.equalsIgnoringCase(in, name, colon, CONTENT_ENCODING);
      case 17 -> {
        if (Characters.equalsIgnoringCase(in, name, colon, TRANSFER_ENCODING)) {
          transferEncoding(in, value, last);
        }
      }
      default -> {
        // It says nothing about that.
      }
    }
  }

  private void connection(byte[] in, int value, int last) {
    int from = value;
    for (int at = value; at <= last; at++) {
      if (at == last || in[at] == ',' || Characters.isBlank(in[at])) {
        closes |= Characters.equalsIgnoringCase(in, from, at, CLOSE);
        keepsAlive |= Characters.equalsIgnoringCase(in, from, at, KEEP_ALIVE);
        from = at + 1;
      }
    }
  }

  /** Of several the router and an engine could go by different ones. */
  private void contentType() throws RefusedRequestException {
    if (typed) {
      throw malformed("it has more than one Content-Type");
    }
    typed = true;
  }

  private void contentLength(byte[] in, int value, int last) throws RefusedRequestException {
    if (length >= 0) {
      throw malformed("it has more than one Content-Length");
    }
    if (last == value || last - value > MAX_LENGTH_DIGITS) {
      throw malformed("its Content-Length is not a number of bytes");
    }
    long bytesAnnounced = 0;
    for (int at = value; at < last; at++) {
      if (in[at] < '0' || in[at] > '9') {
        throw malformed("its Content-Length is not a number of bytes");
      }
      bytesAnnounced = 10 * bytesAnnounced + in[at] - '0';
    }
    length = bytesAnnounced;
    lengthFrom = value;
    lengthTo = last;
  }

  private void transferEncoding(byte[] in, int value, int last) throws RefusedRequestException {
    if (chunked) {
      throw malformed("it has more than one Transfer-Encoding");
    }
    if (!Characters.equalsIgnoringCase(in, value, last, CHUNKED)) {
      throw new RefusedRequestException(501, "the only Transfer-Encoding that is supported is chunked");
    }
    chunked = true;
  }

  /** Checks what only the whole head tells, at its end. */
  void checkWhole() throws RefusedRequestException {
    if (target.isEmpty()) {
      throw malformed("it begins with an empty line");
    }
    if (hosts > 1 || (hosts == 0 && !http10)) {
      throw malformed(hosts == 0 ? "it has no Host" : "it has more than one Host");
    }
    if (chunked && length >= 0) {
      throw malformed("it has both a Content-Length and a Transfer-Encoding");
    }
    if (chunked && http10) {
      throw malformed("HTTP/1.0 has no Transfer-Encoding");
    }
  }

  /** Checks the length of a line that has not ended. */
  void checkUnfinished(int count) throws RefusedRequestException {
    if (target.isEmpty() && count > MAX_TARGET_BYTES + MAX_LINE_REST) {
      throw targetTooLong();
    }
    if (count > MAX_NAME_BYTES + MAX_VALUE_BYTES) {
      throw fieldTooLong();
    }
  }

  static RefusedRequestException malformed(String why) {
    return new RefusedRequestException(400, "the request is malformed: " + why);
  }

  private static RefusedRequestException notUtf8() {
    return malformed("the value of a header is neither ASCII nor UTF-8");
  }

  private static RefusedRequestException targetTooLong() {
    return new RefusedRequestException(
        414, "the request's path and query are longer than the limit of " + MAX_TARGET_BYTES + " bytes");
  }

  private static RefusedRequestException fieldTooLong() {
    return new RefusedRequestException(
        431,
        "a header of the request is longer than the limit: " + MAX_NAME_BYTES + " bytes for its name, "
            + MAX_VALUE_BYTES + " for its value");
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
