package io.kvasir.http.server;

import org.apache.pekko.Done;
import org.apache.pekko.stream.stage.AsyncCallback;

/**
 * The entry of a connection's stream, for threads that are not its own.
 *
 * @param available notes that the client's input has something
 * @param refused refuses the request whose head has not come whole
 * @param ended ends the stream: the client has disconnected
 */
record InboundStream(
    AsyncCallback<Done> available, AsyncCallback<RefusedRequestException> refused, AsyncCallback<Done> ended) {}
