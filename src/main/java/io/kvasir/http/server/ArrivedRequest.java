package io.kvasir.http.server;

import io.kvasir.http.Headers;
import java.net.InetAddress;

/**
 * A request as far as it has arrived, without its body.
 *
 * @param method {@code GET}, {@code POST} …; empty when it is not known
 * @param target path and query as the client sent them, undecoded; empty when they are not known
 * @param headers as they came; none when the head has not come whole, or is malformed
 * @param client where the connection comes from
 */
public record ArrivedRequest(String method, String target, Headers headers, InetAddress client) {
  /** A request of whose head this is all that is known. */
  static ArrivedRequest withoutHead(String target, InetAddress client) {
    return new ArrivedRequest("", target, Headers.EMPTY, client);
  }

  /** The target up to its query, undecoded. */
  public String path() {
    int query = target.indexOf('?');
    return query < 0 ? target : target.substring(0, query);
  }
}
