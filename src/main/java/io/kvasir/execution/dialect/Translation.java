package io.kvasir.execution.dialect;

import io.kvasir.http.ApiPath;
import io.kvasir.http.ByteSink;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * Serves one API by another: the client's request as a chat completion, and the chat's answer as the client's API
 * words it. For one request; not thread-safe.
 */
public interface Translation {
  /** The body of the client's request as a chat completion's. */
  JsonMembers request();

  /** A chat completion that came whole. */
  byte[] whole(byte[] answer);

  /** An error answer, of whatever shape. */
  byte[] error(int status, byte[] answer);

  /** Takes the chat's event stream and gives the client's to {@code client}. */
  Stream stream(ByteSink client);

  /** The client's request as a request for a chat completion. */
  default ClientRequest chat() {
    return new ClientRequest(ApiPath.CHAT.path(), request());
  }

  /** A whole event stream of the chat's as the client's. */
  default byte[] events(byte[] chat) {
    ByteArrayOutputStream translated = new ByteArrayOutputStream();
    try {
      Stream stream = stream(translated::write);
      stream.accept(chat, 0, chat.length);
      stream.end();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return translated.toByteArray();
  }

  /** A translated event stream. */
  interface Stream {
    /** The next bytes of the chat's stream, cut anywhere. */
    void accept(byte[] bytes, int offset, int length) throws IOException;

    /** The chat's stream is over; one that had not come to its own end is not given one. */
    void end() throws IOException;
  }
}
