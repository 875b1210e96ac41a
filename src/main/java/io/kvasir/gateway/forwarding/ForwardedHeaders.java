package io.kvasir.gateway.forwarding;

import io.kvasir.http.Headers;
import java.net.InetAddress;
import java.util.Locale;

/**
 * The headers that pass through, as RFC 9110 §7.6 has it: hop-by-hop ones, and those that {@code Connection} names,
 * belong to one connection and stay there; all others pass in both directions as they came, but for what a client must
 * not tell an engine. Immutable.
 */
public final class ForwardedHeaders {
  private final ForwardingSettings settings;
  private final String scheme;

  /** Headers of requests to a listener of that scheme. */
  public ForwardedHeaders(ForwardingSettings settings, String scheme) {
    this.settings = settings;
    this.scheme = scheme;
  }

  /**
   * A request's headers for the pod: the client's address and the scheme it used are added. What a trusted proxy has
   * said about them is kept.
   */
  public Headers request(Headers headers, InetAddress client) {
    Headers.Builder out = Headers.builder();
    boolean named = names(headers);
    boolean trusted = settings.proxies().contain(client);
    String before = "";
    for (int i = 0; i < headers.size(); i++) {
      String name = headers.name(i).toLowerCase(Locale.ROOT);
      switch (name) {
        case "x-forwarded-for" -> before = trusted ? before + headers.value(i) + ", " : before;
        case "host", "expect", "x-request-id", "x-router-profile" -> {
          // Written by the pod client itself, or meant for the router alone.
        }
        case "forwarded", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port", "x-forwarded-prefix",
            "x-real-ip" -> pass(headers, i, name, named, trusted, out);
        case "authorization", "x-api-key" -> pass(headers, i, name, named, settings.clientKeys(), out);
        default -> pass(headers, i, name, named, !settings.reserved().removes(name), out);
      }
    }
    out.add("X-Forwarded-For", before + client.getHostAddress());
    if (!trusted || !headers.has("X-Forwarded-Proto")) {
      out.add("X-Forwarded-Proto", scheme);
    }
    String host = headers.first("Host");
    if (host != null && !(trusted && headers.has("X-Forwarded-Host"))) {
      out.add("X-Forwarded-Host", host);
    }
    return out.build();
  }

  /** An answer's headers for the client, open for the router's own. */
  public static Headers.Builder answer(Headers headers) {
    Headers.Builder out = Headers.builder();
    boolean named = names(headers);
    for (int i = 0; i < headers.size(); i++) {
      String name = headers.name(i).toLowerCase(Locale.ROOT);
      pass(headers, i, name, named, !name.equals("x-request-id"), out);
    }
    return out;
  }

  private static void pass(
      Headers headers, int index, String lowerCaseName, boolean named, boolean allowed, Headers.Builder out) {
    switch (lowerCaseName) {
      case "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te",
          "trailer", "transfer-encoding", "upgrade", "content-length" -> {
        // One hop's.
      }
      default -> {
        if (allowed && (!named || !headers.hasToken("Connection", lowerCaseName))) {
          out.add(headers.name(index), headers.value(index));
        }
      }
    }
  }

  /** Whether a {@code Connection} header may name others: the usual two values do not. */
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
