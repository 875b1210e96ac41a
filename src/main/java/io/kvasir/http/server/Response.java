package io.kvasir.http.server;

import io.kvasir.http.Headers;

/**
 * What a client is answered. The transport frames the body and writes Content-Length, Transfer-Encoding,
 * Connection, Date and Server itself: such headers are dropped from an answer's own.
 */
public sealed interface Response {
  /** HTTP status, 200..599. */
  int status();

  /** The answer's headers, Content-Type among them. */
  Headers headers();

  /** The same answer with other headers. */
  default Response with(Headers others) {
    return switch (this) {
      case Buffered whole -> new Buffered(whole.status(), others, whole.body());
      case Streaming streamed -> new Streaming(streamed.status(), others, streamed.streamingBody());
    };
  }

  /** An answer whose body is at hand. The bytes are not copied: not to be changed any more. */
  record Buffered(int status, Headers headers, byte[] body) implements Response {}

  /**
   * An answer whose body comes bit by bit. {@code relay} runs on the handler's virtual thread once the head
   * has been written, and is then the only thing that may write; it runs exactly once, also when the
   * client has left by then (its first write fails).
   */
  record Streaming(int status, Headers headers, StreamingBody streamingBody) implements Response {}
}
