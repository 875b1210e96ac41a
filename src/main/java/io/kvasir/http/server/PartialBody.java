package io.kvasir.http.server;

import org.apache.pekko.util.ByteString;

/**
 * A body of known length that has not come whole with its head. What is missing goes from the socket straight to where
 * it is kept: Pekko sees a request without a body.
 *
 * @param length of the whole body, in bytes
 * @param begun what has come of it
 * @param completed is run when all of it has come
 */
record PartialBody(long length, ByteString begun, Runnable completed) {}
