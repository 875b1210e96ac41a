package io.kvasir.http.server;

import io.kvasir.http.Headers;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** An answer rendered without Pekko: the last one on its connection, to a request that Pekko has not seen. */
final class PlainAnswer {
  private PlainAnswer() {}

  /** The bytes to be sent before the connection is closed. */
  static byte[] render(Response.Buffered answer) {
    StringBuilder head = new StringBuilder(256);
    head.append("HTTP/1.1 ").append(answer.status()).append(' ').append(reason(answer.status())).append("\r\n");
    head.append("Server: kvasir\r\nConnection: close\r\n");
    Headers headers = answer.headers();
    for (int i = 0; i < headers.size(); i++) {
      head.append(headers.name(i)).append(": ").append(headers.value(i)).append("\r\n");
    }
    head.append("Content-Length: ").append(answer.body().length).append("\r\n\r\n");
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(head.length() + answer.body().length);
    bytes.writeBytes(head.toString().getBytes(StandardCharsets.US_ASCII));
    bytes.writeBytes(answer.body());
    return bytes.toByteArray();
  }

  private static String reason(int status) {
    return switch (status) {
      case 400 -> "Bad Request";
      case 408 -> "Request Timeout";
      case 414 -> "URI Too Long";
      case 431 -> "Request Header Fields Too Large";
      case 501 -> "Not Implemented";
      case 503 -> "Service Unavailable";
      case 505 -> "HTTP Version Not Supported";
      default -> status < 500 ? "Client Error" : "Server Error";
    };
  }
}
