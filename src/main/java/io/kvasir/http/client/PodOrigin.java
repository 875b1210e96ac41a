package io.kvasir.http.client;

import java.net.URI;
import java.util.Locale;

/** The server that a connection leads to: what pooled connections are shared by. */
record PodOrigin(boolean secure, String host, int port) {
  static PodOrigin of(URI pod) {
    String scheme = pod.getScheme() == null ? "" : pod.getScheme().toLowerCase(Locale.ROOT);
    String host = pod.getHost();
    if (host == null || !(scheme.equals("http") || scheme.equals("https"))) {
      throw new IllegalArgumentException("a pod's URL must be http://host:port or https://host:port, not " + pod);
    }
    boolean secure = scheme.equals("https");
    int port = pod.getPort() >= 0 ? pod.getPort() : secure ? 443 : 80;
    // An IPv6 address stands in brackets in a URL, and without them everywhere else.
    String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    return new PodOrigin(secure, bare, port);
  }
}
