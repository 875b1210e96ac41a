package io.kvasir.doctor.exam;

import io.kvasir.events.SnapshotFormat;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/** A request for a snapshot, of which only the beginning is read ({@link SnapshotFormat}). */
final class SnapshotRequest {
  private static final int TRIES = 3;
  private static final byte[] REQUEST = "snapshot".getBytes(StandardCharsets.US_ASCII);

  private SnapshotRequest() {}

  /**
   * Asks until something comes.
   *
   * @param timeout silence after which a try is over
   */
  static SnapshotExam send(String endpoint, SnapshotFormat format, Duration timeout) {
    for (int i = 0; i < TRIES; i++) {
      try (ZContext context = ZmqContexts.open(); ZMQ.Socket dealer = ZmqContexts.socket(context, SocketType.DEALER)) {
        dealer.setReceiveTimeOut((int) timeout.toMillis());
        dealer.connect(endpoint);
        dealer.sendMore(new byte[0]);
        dealer.send(REQUEST);
        byte[] second = new byte[0];
        byte[] last = dealer.recv();
        for (int frames = 1; last != null && dealer.hasReceiveMore(); frames++) {
          last = dealer.recv();
          second = frames == 1 && last != null ? last : second;
        }
        if (last != null) {
          return new SnapshotExam(endpoint, true, isOne(format, second, last));
        }
      } catch (ZMQException failed) {
        return new SnapshotExam(endpoint, false, false);
      }
    }
    return new SnapshotExam(endpoint, false, false);
  }

  /** Whether a reply is a snapshot, by its second and its last frame. */
  private static boolean isOne(SnapshotFormat format, byte[] second, byte[] last) {
    return switch (format) {
      // The end mark alone has an empty payload: the request was taken for a number.
      case NONE, VLLM_50134 -> last.length > 0;
      case VLLM_57789 -> second.length == Long.BYTES && ByteBuffer.wrap(second).getLong() >= -1;
    };
  }
}
