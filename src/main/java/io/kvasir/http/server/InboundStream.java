package io.kvasir.http.server;

import org.apache.pekko.Done;
import org.apache.pekko.stream.stage.AsyncCallback;

/**
 * The entry of a connection's stream, for threads that are not its own.
 *
 * @param available notes that the client's input has something
 * @param refused refuses the request whose head has not come whole
 * @param ended ends the stream: the client has disconnected
 * @param upgraded has the input go to the connection that has left HTTP
 */
record InboundStream(
    AsyncCallback<Done> available,
    AsyncCallback<RefusedRequestException> refused,
    AsyncCallback<Done> ended,
    AsyncCallback<UpgradedInput> upgraded) {
  /** Where the input goes once the connection has left HTTP. */
  interface UpgradedInput {
    /** The input is this one's from now on; {@code rest} came with the request. */
    void begin(byte[] rest);

    /** There is input. */
    void available();
  }
}
