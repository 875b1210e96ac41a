package io.kvasir.execution.dialect;

import io.kvasir.http.ByteSink;
import java.io.IOException;

/**
 * Serves one API by another: the client's request as a chat completion, and the chat's answer as the client's API
 * words it. For one request; not thread-safe.
 */
public interface Translation {
  /** The client's request as a chat completion. */
  byte[] request();

  /** A chat completion that came whole. */
  byte[] whole(byte[] answer);

  /** An error answer, of whatever shape. */
  byte[] error(int status, byte[] answer);

  /** Takes the chat's event stream and gives the client's to {@code client}. */
  Stream stream(ByteSink client);

  /** A translated event stream. */
  interface Stream {
    /** The next bytes of the chat's stream, cut anywhere. */
    void accept(byte[] bytes, int offset, int length) throws IOException;

    /** The chat's stream is over; one that had not come to its own end is not given one. */
    void end() throws IOException;
  }
}
