package io.kvasir.http.server;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client's socket that is read on the connection's own thread, and waits in every read and write: TLS needs that. */
final class BlockingSocket implements ClientSocket {
  private static final Logger LOG = LoggerFactory.getLogger(BlockingSocket.class);

  /** The TCP socket, also beneath TLS: closing it never waits. */
  private final Socket tcp;

  private final Handshake handshake;
  private volatile @Nullable Socket socket;
  private volatile @Nullable OutputStream out;
  private volatile @Nullable Thread reader;

  /** What makes of a TCP socket the one that HTTP is spoken on. */
  @FunctionalInterface
  interface Handshake {
    Socket over(Socket tcp) throws IOException;
  }

  BlockingSocket(Socket tcp, Handshake handshake) {
    this.tcp = tcp;
    this.handshake = handshake;
  }

  @Override
  public void open() throws IOException {
    tcp.setTcpNoDelay(true);
    Socket opened = handshake.over(tcp);
    out = opened.getOutputStream();
    socket = opened;
  }

  private Socket opened() throws IOException {
    Socket opened = socket;
    if (opened == null) {
      throw new IOException("not connected");
    }
    return opened;
  }

  @Override
  public void read(ClientInput input, Runnable ended) {
    reader = Thread.currentThread();
    try {
      readAll(opened().getInputStream(), input);
    } catch (IOException e) {
      LOG.debug("A connection from {} ended: {}", tcp.getInetAddress(), e.toString());
    } finally {
      ended.run();
    }
  }

  private void readAll(InputStream in, ClientInput input) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(input.nextRead());
    while (true) {
      int length = in.read(buffer.array(), 0, buffer.capacity());
      if (length < 0) {
        return;
      }
      switch (input.accept(buffer.clear().limit(length))) {
        case MORE -> {}
        case PAUSE -> {
          while (input.isPaused()) {
            LockSupport.park(this);
          }
        }
        case END -> {
          return;
        }
      }
      if (input.nextRead() != buffer.capacity()) {
        buffer = ByteBuffer.allocate(input.nextRead());
      }
    }
  }

  @Override
  public void resume() {
    Thread thread = reader;
    if (thread != null) {
      LockSupport.unpark(thread);
    }
  }

  @Override
  public boolean canOffer() {
    return false;
  }

  @Override
  public int offer(byte[] bytes, int offset, int length) {
    return 0;
  }

  @Override
  public int write(byte[] bytes, int offset, int length) throws IOException {
    OutputStream to = out;
    if (to == null) {
      throw new IOException("not connected");
    }
    to.write(bytes, offset, length);
    return length;
  }

  @Override
  public void shutdownOutput() throws IOException {
    opened().shutdownOutput();
  }

  @Override
  public void close() throws IOException {
    tcp.close();
  }

  @Override
  public String toString() {
    return Objects.toString(tcp.getInetAddress());
  }
}
