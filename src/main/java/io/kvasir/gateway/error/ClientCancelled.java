package io.kvasir.gateway.error;

import io.kvasir.http.Headers;
import io.kvasir.http.server.Response;

/** The answer to a client that has disconnected before it had one: never sent, counted under its own status. */
public final class ClientCancelled {
  public static final int STATUS = 499;
  public static final Response.Buffered RESPONSE = new Response.Buffered(STATUS, Headers.EMPTY, new byte[0]);

  private ClientCancelled() {}
}
