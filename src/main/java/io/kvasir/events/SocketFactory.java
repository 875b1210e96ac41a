package io.kvasir.events;

import java.io.IOException;
import java.nio.channels.Pipe;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ.Socket;
import org.zeromq.ZMQException;
import zmq.ZError;

/** Makes ZMQ sockets. */
@FunctionalInterface
interface SocketFactory {
  /**
   * Makes a socket.
   *
   * @throws RuntimeException when there is none to be had, such as for want of file descriptors; that may pass
   */
  Socket create(SocketType type);

  /** Makes the sockets of a context. */
  static SocketFactory of(ZContext context) {
    return type -> {
      // A socket without descriptors costs its context one of its places for good: better to see first.
      try {
        Pipe spare = Pipe.open();
        spare.source().close();
        spare.sink().close();
      } catch (IOException none) {
        throw new ZMQException(none.getMessage(), ZError.EMFILE);
      }
      return context.createSocket(type);
    };
  }
}
