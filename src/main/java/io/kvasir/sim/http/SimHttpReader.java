package io.kvasir.sim.http;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Makes requests of the bytes of a connection, in whichever pieces these come. One thread at a time. */
final class SimHttpReader {
  private static final int MAX_HEAD_BYTES = 64 * 1024;
  private static final byte[] NO_BODY = new byte[0];

  private enum Part {
    START, HEADERS, BODY, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILERS
  }

  private final int maxBodyBytes;
  private final StringBuilder line = new StringBuilder(128);
  private Part part = Part.START;
  private int headBytes;
  private String[] start = {};
  private Map<String, String> headers = Map.of();
  private byte[] body = NO_BODY;
  private int bodyBytes;

  /** How much of the body there is once the part that is being read has come. */
  private int expectedBytes;

  private boolean awaitsContinue;

  /**
   * A request.
   *
   * @param headers by their names in lower case
   * @param keepAlive whether the client means to send another on its connection
   */
  record ReadRequest(String method, String target, Map<String, String> headers, byte[] body, boolean keepAlive) {}

  /**
   * A reader before the first request.
   *
   * @param maxBodyBytes the largest body
   */
  SimHttpReader(int maxBodyBytes) {
    this.maxBodyBytes = maxBodyBytes;
  }

  /** Whether a request has begun that has not come whole. */
  boolean isMidway() {
    return part != Part.START || !line.isEmpty();
  }

  /** Whether the client waits for a 100 before it sends the body; true once for a request. */
  boolean takeContinue() {
    boolean awaits = awaitsContinue;
    awaitsContinue = false;
    return awaits;
  }

  /**
   * Reads on.
   *
   * @param in what has come; read up to the end of a request, or to its own end
   * @return the request that is whole now, or null when more has to come
   * @throws ProtocolException when it is none, or too large
   */
  @Nullable ReadRequest read(ByteBuffer in) throws ProtocolException {
    while (in.hasRemaining()) {
      boolean ended = switch (part) {
        case START, HEADERS, CHUNK_SIZE, CHUNK_END, TRAILERS -> readLine(in) && line(takeLine());
        case BODY -> readBody(in);
        case CHUNK -> {
          if (readBody(in)) {
            part = Part.CHUNK_END;
          }
          yield false;
        }
      };
      if (ended) {
        return take();
      }
    }
    return null;
  }

  /** Whether the request ends with this line. */
  private boolean line(String text) throws ProtocolException {
    return switch (part) {
      case START -> {
        start = text.split(" ", -1);
        if (start.length != 3 || !start[2].startsWith("HTTP/1.")) {
          throw invalid();
        }
        headers = new TreeMap<>();
        part = Part.HEADERS;
        yield false;
      }
      case HEADERS -> text.isEmpty() ? headEnds() : header(text);
      case CHUNK_SIZE -> {
        int extension = text.indexOf(';');
        int length = checkedLength(extension < 0 ? text : text.substring(0, extension), 16);
        part = length == 0 ? Part.TRAILERS : Part.CHUNK;
        expect(length);
        yield false;
      }
      case CHUNK_END -> {
        if (!text.isEmpty()) {
          throw invalid();
        }
        headBytes = 0;
        part = Part.CHUNK_SIZE;
        yield false;
      }
      case TRAILERS -> text.isEmpty();
      case BODY, CHUNK -> throw new IllegalStateException("a body has no lines");
    };
  }

  private boolean header(String text) throws ProtocolException {
    int colon = text.indexOf(':');
    if (colon <= 0) {
      throw invalid();
    }
    headers.merge(
        text.substring(0, colon).toLowerCase(Locale.ROOT), text.substring(colon + 1).strip(), (a, b) -> a + ", " + b);
    return false;
  }

  private boolean headEnds() throws ProtocolException {
    awaitsContinue = "100-continue".equalsIgnoreCase(headers.get("expect"));
    if (headers.getOrDefault("transfer-encoding", "").toLowerCase(Locale.ROOT).contains("chunked")) {
      headBytes = 0;
      part = Part.CHUNK_SIZE;
      return false;
    }
    String declared = headers.get("content-length");
    int length = declared == null ? 0 : checkedLength(declared, 10);
    part = Part.BODY;
    expect(length);
    return length == 0;
  }

  /** Makes room for the next part of the body. */
  private void expect(int length) throws ProtocolException {
    if (length > maxBodyBytes - bodyBytes) {
      throw tooLarge();
    }
    expectedBytes = bodyBytes + length;
    if (body.length < expectedBytes) {
      body = Arrays.copyOf(body, part == Part.CHUNK ? Math.max(expectedBytes, 2 * body.length) : expectedBytes);
    }
  }

  /** Whether the part of the body that was expected has come. */
  private boolean readBody(ByteBuffer in) {
    int length = Math.min(in.remaining(), expectedBytes - bodyBytes);
    in.get(body, bodyBytes, length);
    bodyBytes += length;
    return bodyBytes == expectedBytes;
  }

  private ReadRequest take() {
    String connection = headers.getOrDefault("connection", "").toLowerCase(Locale.ROOT);
    boolean keep = start[2].equals("HTTP/1.0") ? connection.contains("keep-alive") : !connection.contains("close");
    ReadRequest whole =
        new ReadRequest(
            start[0], start[1], headers, body.length == bodyBytes ? body : Arrays.copyOf(body, bodyBytes), keep);
    part = Part.START;
    headBytes = 0;
    headers = Map.of();
    body = NO_BODY;
    bodyBytes = 0;
    return whole;
  }

  private int checkedLength(String text, int radix) throws ProtocolException {
    long length;
    try {
      length = Long.parseLong(text.strip(), radix);
    } catch (NumberFormatException e) {
      throw invalid();
    }
    if (length < 0) {
      throw invalid();
    }
    if (length > maxBodyBytes) {
      throw tooLarge();
    }
    return (int) length;
  }

  /** Whether the line has come whole. */
  private boolean readLine(ByteBuffer in) throws ProtocolException {
    while (in.hasRemaining()) {
      byte next = in.get();
      if (next == '\n') {
        return true;
      }
      if (++headBytes > MAX_HEAD_BYTES) {
        throw new ProtocolException(431, "The request head is larger than " + MAX_HEAD_BYTES + " bytes.");
      }
      line.append((char) (next & 0xff)); // ISO 8859-1
    }
    return false;
  }

  private String takeLine() {
    int length = line.length();
    if (length > 0 && line.charAt(length - 1) == '\r') {
      line.setLength(length - 1);
    }
    String text = line.toString();
    line.setLength(0);
    return text;
  }

  private ProtocolException tooLarge() {
    return new ProtocolException(413, "The request body is larger than " + maxBodyBytes + " bytes.");
  }

  private static ProtocolException invalid() {
    return new ProtocolException(400, "Invalid HTTP request received.");
  }

  /** The client sent something that is not HTTP/1.x, or too much of it. */
  static final class ProtocolException extends Exception {
    private static final long serialVersionUID = 1;
    private final int status;

    private ProtocolException(int status, String text) {
      super(text, null, false, false);
      this.status = status;
    }

    /** The status to refuse it with. */
    int status() {
      return status;
    }

    /** The text to refuse it with. */
    byte[] text() {
      return String.valueOf(getMessage()).getBytes(StandardCharsets.UTF_8);
    }
  }
}
