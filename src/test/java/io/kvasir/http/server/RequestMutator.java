package io.kvasir.http.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;

/** Makes what hostile and broken clients send: requests by HTTP's grammar, with parts of them exchanged or damaged. */
final class RequestMutator {
  private static final List<String> METHODS =
      List.of("GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "TRACE", "CONNECT", "BREW", "get", "P(ST", "", "PRI");
  private static final List<String> TARGETS =
      List.of("/", "/a?b=c", "*", "http://x/abs?q", "x:80", "/%2e%2e/", "/a#b", "/\u00fc", "", "/a b", "//", "/{}|^",
          "http://", "/%zz", "/a\tb", "/\u0000", "\\", "?q");
  private static final List<String> VERSIONS =
      List.of("HTTP/1.1", "HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1", "HTTP/1.1 ", " HTTP/1.1", "HTTP/01.1",
          "HTTP/1", "");
  private static final List<String> ENDS = List.of("\n", "\r", "\r\r\n", "\n\r", "\r\n\r\n", "", " \r\n", "\r\n ");
  private static final List<String> COLONS = List.of(":", " :", "\t:", ":\t", ":  ", "", "\r\n :", ": \u000b", ":\0");
  private static final List<String> LENGTH_NAMES = List.of("Content-Length", "content-length", "CONTENT-LENGTH");
  private static final List<String> LENGTHS =
      List.of("+5", "-5", "0x5", "05", "5,5", "5, 6", "5 5", "", "5\u000b", "1e1", "999999999999999999",
          "18446744073709551621", "4294967301", "\u0665", "\"5\"");
  private static final List<String> CODINGS =
      List.of("chunked", "Chunked", "chunked, chunked", "identity", "gzip, chunked", "xchunked", "chunked;x=y",
          "\"chunked\"", "chunked,", ",chunked", "\u000bchunked", "chunked\u0000", "");
  private static final List<String> SIZES =
      List.of("0x5", "+5", "-5", " 5", "5 ", "00000005", "00000000000000005", "100000005", "ffffffffffffffff",
          "80000000", "7fffffff", "", "g", "5;x", "5 ;x", "5;x=\"\r\n\"", "5\r", "5\n", "5;\n", "5;a=b;c");
  private static final List<String> FIELDS =
      List.of("Host: y\r\n", "Connection: close\r\n", "Connection: keep-alive\r\n", "Connection: close, x\r\n",
          "Expect: 100-continue\r\n", "Expect: 200-ok\r\n", "Content-Type: application/json\r\n", "Content-Type: ;\r\n",
          "X: folded\r\n on\r\n", " : x\r\n", "X\r\n", ": x\r\n", "X y: z\r\n", "X: \u00e4\u0001\r\n",
          "X: \u00e4\r\n", "X: \u00c3\u00a4\r\n",
          "Upgrade: h2c\r\nConnection: upgrade\r\n", "Content-Encoding: gzip\r\n", "X: \r\n", "Trailer: X\r\n",
          "Transfer_Encoding: chunked\r\n", "Keep-Alive: x\r\n", "Host: a b\r\n", "Accept: */*\r\n");
  private static final String ODD = "\r\n \t:;,0\u0000\u000b\u0080";
  private static final String SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";

  private final RandomGenerator random;

  RequestMutator(RandomGenerator random) {
    this.random = random;
  }

  /** A request, more or less damaged. */
  byte[] request() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes(text().getBytes(ISO_8859_1));
    byte[] request = bytes.toByteArray();
    while (rarely(8)) {
      request = damaged(request);
    }
    return request;
  }

  /** Cuts what is sent into segments. */
  List<byte[]> segments(byte[] bytes) {
    List<byte[]> segments = new ArrayList<>();
    int longest = switch (random.nextInt(4)) {
      case 0 -> bytes.length + 1;
      case 1 -> 1;
      case 2 -> 8;
      default -> 200;
    };
    for (int at = 0; at < bytes.length;) {
      int end = Math.min(bytes.length, at + (longest > bytes.length ? longest : random.nextInt(1, longest + 1)));
      segments.add(Arrays.copyOfRange(bytes, at, end));
      at = end;
    }
    return segments;
  }

  private String text() {
    StringBuilder text = new StringBuilder();
    boolean body = random.nextBoolean();
    text.append(odd(body ? "POST" : "GET", METHODS)).append(rarely(60) ? "  " : " ");
    text.append(rarely(300) ? "/" + "p".repeat(random.nextInt(8180, 8200)) : odd("/t" + random.nextInt(1000), TARGETS));
    text.append(' ').append(odd("HTTP/1.1", VERSIONS)).append(end());
    if (!rarely(40)) {
      text.append("Host").append(colon()).append("x").append(end());
    }
    while (rarely(4)) {
      text.append(pick(FIELDS));
    }
    if (rarely(300)) {
      text.append("X: y\r\n".repeat(random.nextInt(120, 135)));
    }
    if (body) {
      body(text);
    } else {
      text.append(end());
    }
    return text.toString();
  }

  private void body(StringBuilder text) {
    String data = rarely(4) ? SMUGGLED : "d".repeat(random.nextInt(40));
    boolean chunked = random.nextBoolean();
    boolean both = rarely(15);
    if (random.nextBoolean()) {
      text.append("Content-Type: text/plain").append(end());
    }
    if (!chunked || both) {
      String length = odd(Integer.toString(rarely(20) ? random.nextInt(60) : data.length()), LENGTHS);
      text.append(pick(LENGTH_NAMES)).append(colon()).append(length).append(end());
      if (rarely(20)) {
        text.append("Content-Length: ").append(rarely(2) ? length : "3").append("\r\n");
      }
    }
    if (chunked || both) {
      text.append("Transfer-Encoding").append(colon()).append(odd("chunked", CODINGS)).append(end());
      if (rarely(30)) {
        text.append("Transfer-Encoding: ").append(pick(CODINGS)).append("\r\n");
      }
    }
    text.append(end());
    if (chunked) {
      chunks(text, data);
    } else {
      text.append(data);
    }
  }

  private void chunks(StringBuilder text, String data) {
    for (int at = 0; at < data.length();) {
      int count = Math.min(data.length() - at, random.nextInt(1, 20));
      text.append(odd(Integer.toHexString(count), SIZES)).append(end());
      text.append(data, at, at + count).append(end());
      at += count;
    }
    text.append(odd("0", SIZES)).append(end());
    while (rarely(6)) {
      text.append(rarely(3) ? pick(FIELDS) : "T: x\r\n");
    }
    text.append(end());
  }

  private byte[] damaged(byte[] request) {
    if (request.length == 0) {
      return request;
    }
    int at = random.nextInt(request.length);
    byte any = (byte) (random.nextBoolean() ? ODD.charAt(random.nextInt(ODD.length())) : random.nextInt());
    byte[] damaged;
    switch (random.nextInt(4)) {
      case 0 -> {
        damaged = request.clone();
        damaged[at] = any;
      }
      case 1 -> {
        damaged = new byte[request.length + 1];
        System.arraycopy(request, 0, damaged, 0, at);
        damaged[at] = any;
        System.arraycopy(request, at, damaged, at + 1, request.length - at);
      }
      case 2 -> {
        damaged = new byte[request.length - 1];
        System.arraycopy(request, 0, damaged, 0, at);
        System.arraycopy(request, at + 1, damaged, at, damaged.length - at);
      }
      default -> damaged = Arrays.copyOf(request, at);
    }
    return damaged;
  }

  private String end() {
    return rarely(150) ? pick(ENDS) : "\r\n";
  }

  private String colon() {
    return rarely(60) ? pick(COLONS) : ": ";
  }

  private String odd(String usual, List<String> others) {
    return rarely(20) ? pick(others) : usual;
  }

  private String pick(List<String> of) {
    return of.get(random.nextInt(of.size()));
  }

  private boolean rarely(int of) {
    return random.nextInt(of) == 0;
  }
}
