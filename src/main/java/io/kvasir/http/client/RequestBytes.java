package io.kvasir.http.client;

import io.kvasir.http.Headers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A request as it goes over the wire: its head and as much of the body as makes one good packet burst. */
final class RequestBytes {
  /** A body up to here is copied behind its head, so that one write sends both. */
  private static final int TOGETHER = 16 << 10;

  private byte[] first;
  private final byte[] body;

  /** How much of the body is in {@link #first}. */
  private final int sent;

  /** Whether it is a request to leave HTTP. */
  private boolean upgrade;

  RequestBytes(PodRequest request, PodOrigin origin) {
    byte[] head = head(request, origin);
    body = request.body();
    sent = Math.min(body.length, TOGETHER);
    first = Arrays.copyOf(head, head.length + sent);
    System.arraycopy(body, 0, first, head.length, sent);
  }

  void writeTo(CallConnection connection) throws IOException {
    connection.write(first, 0, first.length);
    if (sent < body.length) {
      connection.write(body, sent, body.length - sent);
    }
  }

  /** All of it, not copied; null where it is too long to be one piece. */
  byte @Nullable [] whole() {
    return sent == body.length ? first : null;
  }

  /** Lets go of the bytes, which have been answered and are not sent again: the answer may take minutes. */
  void release() {
    first = new byte[0];
  }

  /** Whether it is a request to leave HTTP, which status 101 answers. */
  boolean isUpgrade() {
    return upgrade;
  }

  private byte[] head(PodRequest request, PodOrigin origin) {
    Headers headers = request.headers();
    StringBuilder head = new StringBuilder(512);
    head.append(request.method()).append(' ').append(request.target()).append(" HTTP/1.1\r\nHost: ");
    boolean ipv6 = origin.host().indexOf(':') >= 0;
    head.append(ipv6 ? "[" : "").append(origin.host()).append(ipv6 ? "]" : "");
    if (origin.port() != (origin.secure() ? 443 : 80)) {
      head.append(':').append(origin.port());
    }
    head.append("\r\n");
    int lines = 2;
    for (int i = 0; i < headers.size(); i++) {
      if (!isOurs(headers.name(i))) {
        upgrade |= headers.name(i).equalsIgnoreCase("Upgrade");
        head.append(headers.name(i)).append(": ").append(headers.value(i)).append("\r\n");
        lines++;
      }
    }
    if (request.body().length > 0 || mayHaveBody(request.method())) {
      head.append("Content-Length: ").append(request.body().length).append("\r\n");
      lines++;
    }
    if (upgrade) {
      head.append("Connection: Upgrade\r\n");
      lines++;
    }
    head.append("\r\n");
    byte[] bytes = head.toString().getBytes(StandardCharsets.UTF_8);
    checkLines(bytes, lines + 1);
    return bytes;
  }

  /** Checks that no target or header smuggles in a line or anything else unprintable. */
  private static void checkLines(byte[] head, int expected) {
    int lines = 0;
    int controls = 0;
    for (int i = 0; i < head.length; i++) {
      byte b = head[i];
      if (b >= 0 && b < ' ' && b != '\t') {
        controls++;
        if (b == '\n' && head[i - 1] == '\r') {
          lines++;
        }
      }
    }
    if (lines != expected || controls != 2 * expected) {
      throw new IllegalArgumentException("a request's target or header has control characters in it");
    }
  }

  private static boolean mayHaveBody(String method) {
    return method.equals("POST") || method.equals("PUT") || method.equals("PATCH");
  }

  private static boolean isOurs(String name) {
    return switch (name.length()) {
      case 4 -> name.equalsIgnoreCase("Host");
      case 6 -> name.equalsIgnoreCase("Expect");
      case 10 -> name.equalsIgnoreCase("Connection") || name.equalsIgnoreCase("Keep-Alive");
      case 14 -> name.equalsIgnoreCase("Content-Length");
      case 17 -> name.equalsIgnoreCase("Transfer-Encoding");
      default -> false;
    };
  }
}
