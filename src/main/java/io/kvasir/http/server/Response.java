package io.kvasir.http.server;

import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;

/**
 * What a client is answered. The transport frames the body and writes Content-Length, Transfer-Encoding,
 * Connection, Date and Server itself: such headers are dropped from an answer's own.
 */
public sealed interface Response {
  /** HTTP status, 200..599, or 101. */
  int status();

  /** The answer's headers, Content-Type among them. */
  Headers headers();

  /** The same answer with other headers. */
  default Response with(Headers others) {
    return switch (this) {
      case Buffered whole -> new Buffered(whole.status(), others, whole.body());
      case Streaming streamed -> new Streaming(streamed.status(), others, streamed.body());
    };
  }

  /** An answer whose body is at hand. The bytes are not copied: not to be changed any more. */
  record Buffered(int status, Headers headers, byte[] body) implements Response {}

  /**
   * An answer whose body comes bit by bit. The body is run on the handler's virtual thread once the head has been
   * written, and is then the only one that may write; also when the client has disconnected by then (its first write
   * fails). It is abandoned when the answer has no body on the wire, such as one to HEAD.
   *
   * <p>With status 101 the connection leaves HTTP: the headers name the protocol in {@code Upgrade}, and the body is
   * given a {@link io.kvasir.http.DuplexSink}. The connection is closed when it has run.
   */
  record Streaming(int status, Headers headers, StreamingBody body) implements Response {}
}
