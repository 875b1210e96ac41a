package io.kvasir.http.server;

import io.kvasir.http.RequestMemory;

/**
 * A limit of the server's that keeps a request from its handler, or a client from its connection.
 *
 * @param measured what there would have been with the request, in the limit's unit
 * @param most what is let through; both are 0 for {@link Kind#STOPPING}, which has no figures
 */
public record ReachedLimit(Kind kind, long measured, long most) {
  /** Which limit. */
  public enum Kind {
    /** Open connections. */
    CONNECTIONS,
    /** Open connections of one client's address. */
    CONNECTIONS_PER_ADDRESS,
    /** Bytes of memory for all requests. */
    MEMORY,
    /** Bytes of a body. */
    BODY_LENGTH,
    /** Milliseconds until the whole head has come. */
    HEAD_TIME,
    /** Milliseconds until the whole body has come. */
    BODY_TIME,
    /** Milliseconds in which nothing of a head or a body has come. */
    STALL_TIME,
    /** The server stops, and takes no further requests. */
    STOPPING
  }

  /** That of a server that stops. */
  public static final ReachedLimit STOPPING = new ReachedLimit(Kind.STOPPING, 0, 0);

  /** That of the memory for requests. */
  public static ReachedLimit of(RequestMemory.Shortage shortage) {
    return new ReachedLimit(Kind.MEMORY, shortage.needed(), shortage.limit());
  }
}
