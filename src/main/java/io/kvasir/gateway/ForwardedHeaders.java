package io.kvasir.gateway;

import io.kvasir.http.Headers;
import java.net.InetAddress;
import java.util.Locale;

/**
 * Which headers pass through, as RFC 9110 §7.6 has it: hop-by-hop ones, and those that {@code ClientConnection}
 * names, belong to one connection and stay there; all others pass in both directions as they came.
 */
final class ForwardedHeaders {
  private ForwardedHeaders() {}

  /** A request's headers for the pod: the client's address and the scheme it used are added. */
  static Headers request(Headers headers, InetAddress client, String scheme) {
    Headers.Builder out = Headers.builder();
    boolean named = names(headers);
    String forwardedFor = client.getHostAddress();
    for (int i = 0; i < headers.size(); i++) {
      String name = headers.name(i);
      switch (name.toLowerCase(Locale.ROOT)) {
        case "x-forwarded-for" -> forwardedFor = headers.value(i) + ", " + forwardedFor;
        case "host", "expect", "x-request-id", "x-router-profile" -> {
          // Written by the pod client itself, or meant for the router alone.
        }
        default -> pass(headers, i, named, out);
      }
    }
    out.add("X-Forwarded-For", forwardedFor);
    if (!headers.has("X-Forwarded-Proto")) {
      out.add("X-Forwarded-Proto", scheme);
    }
    String host = headers.first("Host");
    if (host != null && !headers.has("X-Forwarded-Host")) {
      out.add("X-Forwarded-Host", host);
    }
    return out.build();
  }

  /** An answer's headers for the client, open for the router's own. */
  static Headers.Builder answer(Headers headers) {
    Headers.Builder out = Headers.builder();
    boolean named = names(headers);
    for (int i = 0; i < headers.size(); i++) {
      if (!headers.name(i).equalsIgnoreCase("X-Request-Id")) {
        pass(headers, i, named, out);
      }
    }
    return out;
  }

  private static void pass(Headers headers, int index, boolean named, Headers.Builder out) {
    String name = headers.name(index);
    switch (name.toLowerCase(Locale.ROOT)) {
      case "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te",
          "trailer", "transfer-encoding", "upgrade", "content-length" -> {
        // One hop's.
      }
      default -> {
        if (!named || !headers.hasToken("Connection", name)) {
          out.add(name, headers.value(index));
        }
      }
    }
  }

  /** Whether a {@code ClientConnection} header may name others: the usual two values do not. */
  private static boolean names(Headers headers) {
    for (int i = 0; i < headers.size(); i++) {
      if (headers.name(i).equalsIgnoreCase("Connection")
          && !headers.value(i).equalsIgnoreCase("keep-alive")
          && !headers.value(i).equalsIgnoreCase("close")) {
        return true;
      }
    }
    return false;
  }
}
