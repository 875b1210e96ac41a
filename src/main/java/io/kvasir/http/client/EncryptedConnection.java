package io.kvasir.http.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** A connection with TLS, whose socket has the calling thread wait. */
final class EncryptedConnection extends CallConnection {
  private @Nullable InputStream in;
  private @Nullable OutputStream out;

  EncryptedConnection(PodOrigin origin) throws IOException {
    super(origin);
  }

  @Override
  void open(Socket socket) throws IOException {
    in = socket.getInputStream();
    out = socket.getOutputStream();
  }

  @Override
  boolean reuse() {
    try {
      channel().configureBlocking(false);
      try {
        return channel().read(ByteBuffer.allocate(1)) == 0;
      } finally {
        channel().configureBlocking(true);
      }
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  boolean isNear() {
    return true;
  }

  @Override
  void write(byte[] bytes, int offset, int length) throws IOException {
    if (out == null) {
      throw new IOException("not connected");
    }
    out.write(bytes, offset, length);
  }

  @Override
  int readDirectly(byte[] bytes, int offset, int length) throws IOException {
    if (in == null) {
      throw new IOException("not connected");
    }
    return in.read(bytes, offset, length);
  }
}
