package io.kvasir.http.server;

import io.kvasir.http.ByteSink;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import java.io.IOException;
import java.net.InetAddress;

/** One request on a client's connection, its body read whole. Thread-safe. */
public interface Exchange {
  /** {@code GET}, {@code POST} … */
  String method();

  /** Path and query as the client sent them, undecoded: {@code /v1/models?limit=3}. */
  String target();

  /** The target up to its query, undecoded. */
  default String path() {
    int query = target().indexOf('?');
    return query < 0 ? target() : target().substring(0, query);
  }

  /**
   * The request's headers as they came, in order, hop-by-hop ones included; names in the client's own case, as it
   * wrote them first on this connection. Content-Type and Content-Length stand last when there is a body.
   */
  Headers headers();

  /** The body's bytes, chunk framing and content coding removed; empty when there was none; not to be changed. */
  byte[] body();

  /** The memory of what is read from the body, that of the body itself included. */
  RequestMemory memory();

  /** Where the connection comes from. */
  InetAddress client();

  /**
   * The token that is cancelled, on a thread of its own, when the client closes its connection, or its
   * sending half of it, before the answer is complete. Never once the end of the answer is being sent.
   */
  Cancellation cancellation();

  /**
   * Sends the head of a streamed answer while {@link HttpHandler#handle} still looks for its body. The handler then has
   * to return a {@link Response.Streaming}, of which only the body counts; until that runs, the sink returned may be
   * written to, by one thread at a time. Once; waits until the head has been written.
   *
   * @throws IOException when the client has disconnected
   */
  default ByteSink sendHead(int status, Headers headers) throws IOException {
    throw new IOException("this exchange has no stream to begin");
  }
}
