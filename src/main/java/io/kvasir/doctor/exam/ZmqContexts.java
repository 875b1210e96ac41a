package io.kvasir.doctor.exam;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** ZMQ contexts and sockets for a short time. */
final class ZmqContexts {
  private static final int HANDSHAKE_MILLIS = 500;
  private static final int RECONNECT_MILLIS = 50;

  private static final Logger LOG = LoggerFactory.getLogger(ZmqContexts.class);

  private ZmqContexts() {}

  /**
   * A context that keeps to the log what happens on its threads. When a socket is closed, JeroMQ's may find its mailbox
   * closed already, which is harmless, and would print a stack trace.
   */
  static ZContext open() {
    ZContext context = new ZContext(1);
    context.setNotificationExceptionHandler((thread, thrown) -> LOG.debug("{} of ZMQ", thread.getName(), thrown));
    context.setUncaughtExceptionHandler((thread, thrown) -> LOG.debug("{} of ZMQ ended", thread.getName(), thrown));
    return context;
  }

  /**
   * A socket that connects. JeroMQ forgets to read from a new connection now and then; giving up on the handshake soon
   * and connecting again mends that.
   */
  static ZMQ.Socket socket(ZContext context, SocketType type) {
    ZMQ.Socket socket = context.createSocket(type);
    socket.setLinger(0);
    socket.setHandshakeIvl(HANDSHAKE_MILLIS);
    socket.setReconnectIVL(RECONNECT_MILLIS);
    return socket;
  }
}
