package io.kvasir.doctor.exam;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/** A request for a snapshot, of which only the beginning is read ({@link io.kvasir.events.SnapshotFormat}). */
final class SnapshotRequest {
  private static final int TRIES = 3;
  private static final byte[] REQUEST = "snapshot".getBytes(StandardCharsets.US_ASCII);

  private SnapshotRequest() {}

  /**
   * Asks until something comes.
   *
   * @param timeout silence after which a try is over
   */
  static SnapshotExam send(String endpoint, Duration timeout) {
    for (int i = 0; i < TRIES; i++) {
      try (ZContext context = ZmqContexts.open(); ZMQ.Socket dealer = ZmqContexts.socket(context, SocketType.DEALER)) {
        dealer.setReceiveTimeOut((int) timeout.toMillis());
        dealer.connect(endpoint);
        dealer.sendMore(new byte[0]);
        dealer.send(REQUEST);
        byte[] payload = dealer.recv();
        while (payload != null && dealer.hasReceiveMore()) {
          payload = dealer.recv();
        }
        if (payload != null) {
          // The end mark alone has an empty payload: the request was taken for a number.
          return new SnapshotExam(endpoint, true, payload.length > 0);
        }
      } catch (ZMQException failed) {
        return new SnapshotExam(endpoint, false, false);
      }
    }
    return new SnapshotExam(endpoint, false, false);
  }
}
