package io.kvasir.picker;

import io.kvasir.gateway.body.RequestOutline;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.Exchange;
import java.net.InetAddress;
import java.util.Set;

/** A proxy's request as the gateway reads it. */
record ProxyExchange(
    String method, String target, Headers headers, byte[] body, RequestMemory memory, InetAddress client,
    Cancellation cancellation)
    implements Exchange {
  /**
   * The client's address as the proxy in front of the picker has seen it: the last that it lists; this machine's where
   * it lists none.
   */
  static InetAddress client(Headers headers) {
    String forwarded = headers.first("x-forwarded-for");
    if (forwarded != null) {
      try {
        return InetAddress.ofLiteral(forwarded.substring(forwarded.lastIndexOf(',') + 1).strip());
      } catch (IllegalArgumentException noAddress) {
        // A name, or something else: it says nothing.
      }
    }
    return InetAddress.getLoopbackAddress();
  }

  /** What a request whose path the proxy does not tell is for, as far as its body shows that. */
  static String guessedTarget(Headers headers, Set<RequestOutline.Member> members) {
    return members.contains(RequestOutline.Member.MESSAGES)
        ? headers.has("anthropic-version") ? "/v1/messages" : "/v1/chat/completions"
        : members.contains(RequestOutline.Member.PROMPT) ? "/v1/completions"
        : !members.contains(RequestOutline.Member.INPUT) ? "/"
        : members.contains(RequestOutline.Member.ENCODING_FORMAT) ? "/v1/embeddings"
        : "/v1/responses";
  }
}
