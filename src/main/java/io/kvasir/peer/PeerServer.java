package io.kvasir.peer;

import io.kvasir.peer.FrameCodec.Frame;
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
final class PeerServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PeerServer.class);
  private static final byte[] NONE = {};

  /** More nodes than a cluster has; who comes then is sent away. */
  private static final int MAX_CONNECTIONS = 1_000;

  private static final long PAUSE_NANOS = 100_000_000L;

  private final ServerSocket serverSocket;
  private final PeerSockets sockets;
  private final String node;
  private final RequestHandler handler;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();

  PeerServer(ServerSocket listening, PeerSockets sockets, String node, RequestHandler answerer) {
    this.serverSocket = listening;
    this.sockets = sockets;
    this.node = node;
    this.handler = answerer;
    Thread.ofPlatform().name("kvasir-lines").daemon().start(this::accept);
  }

  private void accept() {
    while (!serverSocket.isClosed()) {
      try {
        Socket asking = serverSocket.accept();
        if (open.size() < MAX_CONNECTIONS) {
          open.add(asking);
          Thread.ofPlatform().name("kvasir-line-from-" + asking.getPort()).daemon().start(() -> serve(asking));
        } else {
          asking.close();
        }
      } catch (IOException failed) {
        if (!serverSocket.isClosed()) {
          LOG.warn("another node could not be let in to ask: {}", failed.getMessage());
          // Such as for want of file descriptors, which does not pass at once.
          LockSupport.parkNanos(PAUSE_NANOS);
        }
      }
    }
  }

  private void serve(Socket asking) {
    try (asking) {
      sockets.beginHandshake(asking);
      DataInputStream in = FrameCodec.input(asking);
      DataOutputStream out = new DataOutputStream(asking.getOutputStream());
      if (FrameCodec.readHello(in).equals(node)) {
        out.writeInt(FrameCodec.WELCOME);
        PeerSockets.endHandshake(asking);
        while (true) {
          Frame frame = FrameCodec.read(in);
          byte[] answer = serve(frame.content());
          out.write(FrameCodec.encode(frame.id(), answer == null ? NONE : answer));
        }
      }
    } catch (IOException ended) {
      LOG.debug("a line from {} has ended: {}", asking.getRemoteSocketAddress(), ended.getMessage());
    } finally {
      open.remove(asking);
    }
  }

  private byte @Nullable [] serve(byte[] question) {
    try {
      return handler.handle(question);
    } catch (RuntimeException failed) {
      LOG.warn("a question of another node could not be answered", failed);
      return null;
    }
  }

  @Override
  public void close() {
    PeerSockets.close(serverSocket);
    open.forEach(PeerSockets::close);
  }
}
