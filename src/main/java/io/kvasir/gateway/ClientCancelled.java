package io.kvasir.gateway;

import io.kvasir.http.Headers;
import io.kvasir.http.server.Response;

/** The answer to a client that has disconnected before it had one: never sent, counted under its own status. */
final class ClientCancelled {
  static final int STATUS = 499;
  static final Response.Buffered RESPONSE = new Response.Buffered(STATUS, Headers.EMPTY, new byte[0]);

  private ClientCancelled() {}
}
