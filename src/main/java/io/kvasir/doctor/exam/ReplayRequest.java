package io.kvasir.doctor.exam;

import io.kvasir.events.EventDecoder;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/** A request for the latest batches of a rank, as engines serve it on a ROUTER socket. */
final class ReplayRequest {
  /** Engines lose requests, as they lose replies; the router asks as often before it gives up. */
  private static final int TRIES = 3;

  /** More than any engine has published: it answers at once that there is nothing more. */
  private static final long NONE_YET = Long.MAX_VALUE;

  private ReplayRequest() {}

  /**
   * Asks for the latest batches, until something comes.
   *
   * @param last the number of the latest batch, -1 when none is known: then no batch is asked for, since nothing tells
   *     which are the latest, and the engine would send all that it keeps
   * @param timeout silence after which a try is over
   */
  static ReplayExam send(String endpoint, PeerSocket socket, long last, Duration timeout) {
    if (!socket.isReplay()) {
      return new ReplayExam(endpoint, socket, false, 0, -1, false, null);
    }
    long from = last < 0 ? NONE_YET : Math.max(0, last + 1 - ReplayExam.BATCHES);
    ReplayExam exam = new ReplayExam(endpoint, socket, false, 0, -1, false, null);
    for (int i = 0; i < TRIES && !exam.answered(); i++) {
      exam = exam(endpoint, socket, from, timeout);
    }
    return exam;
  }

  private static ReplayExam exam(String endpoint, PeerSocket socket, long from, Duration timeout) {
    try (ZContext context = ZmqContexts.open(); ZMQ.Socket dealer = ZmqContexts.socket(context, SocketType.DEALER)) {
      dealer.setRcvHWM(0);
      dealer.setReceiveTimeOut((int) timeout.toMillis());
      dealer.connect(endpoint);
      dealer.sendMore(new byte[0]);
      dealer.send(ByteBuffer.allocate(Long.BYTES).putLong(from).array());
      return read(endpoint, socket, dealer, from);
    } catch (ZMQException failed) {
      return new ReplayExam(endpoint, socket, false, 0, -1, false, null);
    }
  }

  private static ReplayExam read(String endpoint, PeerSocket socket, ZMQ.Socket dealer, long from) {
    EventDecoder decoder = new EventDecoder();
    boolean answered = false;
    int kept = 0;
    long first = from;
    long last = -1;
    long began = 0;
    long ended = 0;
    // Newer engines put the topic before number and payload, so messages are read from their end.
    for (byte[][] tail = tail(dealer); tail != null; tail = tail(dealer)) {
      answered = true;
      if (tail[1].length == 0 || kept == ReplayExam.BATCHES) {
        break;
      }
      long sequence = ByteBuffer.wrap(tail[0]).getLong();
      long at = decoder.decode(sequence, tail[1]).batch().publishedAt();
      if (kept++ == 0) {
        first = sequence;
        began = at;
      }
      last = sequence;
      ended = at;
    }
    return new ReplayExam(
        endpoint, socket, answered, kept, last, first > from,
        kept < 2 || began == 0 ? null : Duration.ofNanos((ended - began) * 1000));
  }

  /** The last two frames of the next message; null when none comes, or it has no number. */
  private static byte @Nullable [][] tail(ZMQ.Socket dealer) {
    byte[] before = new byte[0];
    byte[] last = dealer.recv();
    if (last == null) {
      return null;
    }
    while (dealer.hasReceiveMore()) {
      before = last;
      last = dealer.recv();
    }
    return before.length == Long.BYTES ? new byte[][] {before, last} : null;
  }
}
