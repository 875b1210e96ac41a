package io.kvasir.picker;

import io.kvasir.http.Headers;
import io.kvasir.picker.extproc.BodySendMode;
import io.kvasir.picker.extproc.HeaderMap;
import io.kvasir.picker.extproc.HeaderValue;
import io.kvasir.picker.extproc.ProcessingRequest;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The head of a request as a gateway's proxy shows it. Immutable.
 *
 * @param method {@code GET}, {@code POST} …
 * @param path path and query; null from gateways that do not tell
 * @param headers the client's, but for those that only the picker may set
 * @param bodyless whether the request has no body
 * @param requestBody how the proxy sends the request's body
 * @param responseBody how it sends the response's
 * @param showsResponse whether it is certain to show the response, unless there comes none
 * @param subset the endpoints that it allows, null for all
 */
record ProxyHead(
    String method, @Nullable String path, Headers headers, boolean bodyless, BodySendMode requestBody,
    BodySendMode responseBody, boolean showsResponse, @Nullable Endpoints subset) {

  /** Reads a stream's first message, or the first that has a head. */
  static ProxyHead of(ProcessingRequest message) {
    String method = "POST";
    String path = null;
    String authority = null;
    Headers.Builder headers = Headers.builder();
    for (HeaderValue header : message.getRequestHeaders().getHeaders().getHeadersList()) {
      String value = value(header);
      // Gateways that take HTTP/1.1 may show names as the client wrote them.
      String name = header.getKey().toLowerCase(Locale.ROOT);
      switch (name) {
        case ":method" -> method = value;
        case ":path" -> path = value;
        case ":authority" -> authority = value;
        default -> {
          if (!name.startsWith(":") && !RoutingHeaders.RESERVED.contains(name)) {
            headers.add(name, value);
          }
        }
      }
    }
    if (authority != null) {
      headers.set("Host", authority);
    }
    // Who does not tell its modes sends whole bodies both ways and expects them back.
    boolean told = message.hasProtocolConfig();
    return new ProxyHead(
        method,
        path,
        headers.build(),
        message.getRequestHeaders().getEndOfStream(),
        told ? message.getProtocolConfig().getRequestBodyMode() : BodySendMode.FULL_DUPLEX_STREAMED,
        told ? message.getProtocolConfig().getResponseBodyMode() : BodySendMode.FULL_DUPLEX_STREAMED,
        told && message.getProtocolConfig().getResponseBodyMode() != BodySendMode.NONE,
        Endpoints.subset(message.getMetadataContext().getFilterMetadataMap().get(RoutingHeaders.SUBSET_METADATA)));
  }

  /** The head's fields without those of HTTP/2 itself. */
  static Headers headers(HeaderMap map) {
    Headers.Builder headers = Headers.builder();
    for (HeaderValue header : map.getHeadersList()) {
      if (!header.getKey().startsWith(":")) {
        headers.add(header.getKey(), value(header));
      }
    }
    return headers.build();
  }

  /** The length of the body that a head promises; -1 where it promises none that can be read. */
  static long contentLength(HeaderMap map) {
    long length = -1;
    for (HeaderValue header : map.getHeadersList()) {
      if (header.getKey().equalsIgnoreCase("content-length")) {
        if (length >= 0) {
          return -1;
        }
        length = number(value(header));
      }
    }
    return length;
  }

  private static long number(String value) {
    if (value.isEmpty() || value.length() > 18) {
      return -1;
    }
    for (int i = 0; i < value.length(); i++) {
      if (value.charAt(i) < '0' || value.charAt(i) > '9') {
        return -1;
      }
    }
    return Long.parseLong(value);
  }

  /** The status of a response's head; 200 where it has none that can be read. */
  static int status(HeaderMap map) {
    for (HeaderValue header : map.getHeadersList()) {
      if (header.getKey().equals(":status")) {
        long status = number(value(header));
        return status >= 200 && status <= 599 ? (int) status : 200;
      }
    }
    return 200;
  }

  /** Gateways use the one or the other field. */
  private static String value(HeaderValue header) {
    return header.getRawValue().isEmpty()
        ? header.getValue()
        : header.getRawValue().toString(StandardCharsets.ISO_8859_1);
  }

  /** Whether the head of the request is decided on alone: its body is not shown, or only once it has gone on. */
  boolean decidesOnHead() {
    return bodyless || switch (requestBody) {
      case NONE, STREAMED, GRPC, UNRECOGNIZED -> true;
      case BUFFERED, BUFFERED_PARTIAL, FULL_DUPLEX_STREAMED -> false;
    };
  }

  /** Whether pieces of the response go back independently of those that came. */
  boolean duplexResponse() {
    return responseBody == BodySendMode.FULL_DUPLEX_STREAMED;
  }

  /** Whether the proxy waits for an answer to the head before it sends the body. */
  boolean waitsForHeadReply() {
    return requestBody == BodySendMode.BUFFERED || requestBody == BodySendMode.BUFFERED_PARTIAL;
  }
}
