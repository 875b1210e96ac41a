package io.kvasir.engines;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;

/** The first bytes of ZeroMQ's protocol, by which its sockets are told from others. */
final class ZmtpGreeting {
  /** The signature: FF, eight bytes of padding, 7F. Each side sends it without waiting for the other. */
  private static final int SIGNATURE = 10;

  private ZmtpGreeting() {}

  /** Whether a ZeroMQ socket is bound there. */
  static boolean comesFrom(String host, int port, Duration timeout) {
    try (Socket socket = new Socket()) {
      int millis = (int) timeout.toMillis();
      socket.connect(new InetSocketAddress(host, port), millis);
      socket.setSoTimeout(millis);
      InputStream in = socket.getInputStream();
      byte[] signature = in.readNBytes(SIGNATURE);
      return signature.length == SIGNATURE && signature[0] == (byte) 0xFF && signature[SIGNATURE - 1] == 0x7F;
    } catch (IOException nobody) {
      return false;
    }
  }
}
