package io.kvasir.gateway.http;

import io.kvasir.execution.Headers;

/**
 * What a client is answered. The transport frames the body and writes Content-Length, Transfer-Encoding,
 * Connection, Date and Server itself: such headers are dropped from an answer's own.
 */
public sealed interface Answer {
  /** HTTP status, 200..599. */
  int status();

  /** The answer's headers, Content-Type among them. */
  Headers headers();

  /** The same answer with other headers. */
  default Answer with(Headers others) {
    return switch (this) {
      case Whole whole -> new Whole(whole.status(), others, whole.body());
      case Streamed streamed -> new Streamed(streamed.status(), others, streamed.relay());
    };
  }

  /** An answer whose body is at hand. The bytes are not copied: not to be changed any more. */
  record Whole(int status, Headers headers, byte[] body) implements Answer {}

  /**
   * An answer whose body comes bit by bit. {@code relay} runs on the handler's virtual thread once the head
   * has been written, and is then the only thing that may write; it runs exactly once, also when the
   * client has left by then (its first write fails).
   */
  record Streamed(int status, Headers headers, Relay relay) implements Answer {}
}
