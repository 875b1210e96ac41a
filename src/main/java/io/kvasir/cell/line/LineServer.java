package io.kvasir.cell.line;

import io.kvasir.cell.line.Frames.Frame;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where other nodes ask this one: a thread for each of them. */
final class LineServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LineServer.class);
  private static final byte[] NONE = {};

  /** More nodes than a cluster has; who comes then is sent away. */
  private static final int MOST = 1_000;

  private static final long PAUSE_NANOS = 100_000_000L;

  private final ServerSocket listening;
  private final LineSockets sockets;
  private final String node;
  private final Answerer answerer;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();

  LineServer(ServerSocket listening, LineSockets sockets, String node, Answerer answerer) {
    this.listening = listening;
    this.sockets = sockets;
    this.node = node;
    this.answerer = answerer;
    Thread.ofPlatform().name("kvasir-lines").daemon().start(this::accept);
  }

  private void accept() {
    while (!listening.isClosed()) {
      try {
        Socket asking = listening.accept();
        if (open.size() < MOST) {
          open.add(asking);
          Thread.ofPlatform().name("kvasir-line-from-" + asking.getPort()).daemon().start(() -> answer(asking));
        } else {
          asking.close();
        }
      } catch (IOException failed) {
        if (!listening.isClosed()) {
          LOG.warn("another node could not be let in to ask: {}", failed.getMessage());
          // Such as for want of file descriptors, which does not pass at once.
          LockSupport.parkNanos(PAUSE_NANOS);
        }
      }
    }
  }

  private void answer(Socket asking) {
    try (asking) {
      sockets.greet(asking);
      DataInputStream in = Frames.from(asking);
      DataOutputStream out = new DataOutputStream(asking.getOutputStream());
      if (Frames.meant(in).equals(node)) {
        out.writeInt(Frames.WELCOME);
        LineSockets.greeted(asking);
        while (true) {
          Frame frame = Frames.read(in);
          byte[] answer = answer(frame.content());
          out.write(Frames.of(frame.number(), answer == null ? NONE : answer));
        }
      }
    } catch (IOException ended) {
      LOG.debug("a line from {} has ended: {}", asking.getRemoteSocketAddress(), ended.getMessage());
    } finally {
      open.remove(asking);
    }
  }

  private byte @Nullable [] answer(byte[] question) {
    try {
      return answerer.answer(question);
    } catch (RuntimeException failed) {
      LOG.warn("a question of another node could not be answered", failed);
      return null;
    }
  }

  @Override
  public void close() {
    LineSockets.close(listening);
    open.forEach(LineSockets::close);
  }
}
