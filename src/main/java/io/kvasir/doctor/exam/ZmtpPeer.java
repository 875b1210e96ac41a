package io.kvasir.doctor.exam;

import io.kvasir.doctor.exam.PeerSocket.State;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;

/**
 * Asks what listens at a TCP endpoint by the first messages of ZMTP 3.0: the greeting, by which ZMQ is known, and the
 * {@code READY} command, in which a socket tells its type. ZMQ's own library keeps both to itself.
 */
final class ZmtpPeer {
  private static final int GREETING = 64;
  private static final int COMMAND = 4;
  private static final int LONG_FRAME = 2;
  private static final byte[] SOCKET_TYPE = "Socket-Type".getBytes(StandardCharsets.US_ASCII);

  private ZmtpPeer() {}

  /**
   * What listens at {@code tcp://host:port}.
   *
   * @param own the type of socket that would connect there, such as {@code SUB}
   * @param timeout for each of connecting and reading
   */
  static PeerSocket at(String endpoint, String own, Duration timeout) {
    int colon = endpoint.lastIndexOf(':');
    String host = endpoint.substring("tcp://".length(), colon).replaceAll("[\\[\\]]", "");
    int millis = (int) timeout.toMillis();
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(host, Integer.parseInt(endpoint.substring(colon + 1))), millis);
      socket.setSoTimeout(millis);
      return greet(socket, own);
    } catch (IOException refused) {
      return new PeerSocket(State.REFUSED, "");
    }
  }

  private static PeerSocket greet(Socket socket, String own) {
    try {
      socket.getOutputStream().write(greeting());
      DataInputStream in = new DataInputStream(socket.getInputStream());
      byte[] theirs = new byte[GREETING];
      in.readFully(theirs, 0, 10);
      if (theirs[0] != (byte) 0xFF || theirs[9] != 0x7F) {
        return new PeerSocket(State.NOT_ZMQ, "");
      }
      in.readFully(theirs, 10, GREETING - 10);
      socket.getOutputStream().write(ready(own));
      return new PeerSocket(State.OPEN, type(in));
    } catch (IOException silent) {
      return new PeerSocket(State.NOT_ZMQ, "");
    }
  }

  private static byte[] greeting() {
    byte[] greeting = new byte[GREETING];
    greeting[0] = (byte) 0xFF;
    greeting[9] = 0x7F;
    greeting[10] = 3;
    byte[] mechanism = "NULL".getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(mechanism, 0, greeting, 12, mechanism.length);
    return greeting;
  }

  private static byte[] ready(String own) throws IOException {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.write(5);
    body.write("READY".getBytes(StandardCharsets.US_ASCII));
    body.write(SOCKET_TYPE.length);
    body.write(SOCKET_TYPE);
    body.write(new byte[] {0, 0, 0, (byte) own.length()});
    body.write(own.getBytes(StandardCharsets.US_ASCII));
    ByteArrayOutputStream frame = new ByteArrayOutputStream();
    frame.write(COMMAND);
    frame.write(body.size());
    body.writeTo(frame);
    return frame.toByteArray();
  }

  /** The type in the peer's {@code READY}; empty when it sends another command or none. */
  private static String type(DataInputStream in) {
    try {
      int flags = in.readUnsignedByte();
      if ((flags & COMMAND) == 0 || (flags & LONG_FRAME) != 0) {
        return "";
      }
      byte[] body = new byte[in.readUnsignedByte()];
      in.readFully(body);
      for (int at = 0; at + SOCKET_TYPE.length + 4 < body.length; at++) {
        if (Arrays.equals(body, at, at + SOCKET_TYPE.length, SOCKET_TYPE, 0, SOCKET_TYPE.length)) {
          int from = at + SOCKET_TYPE.length + 4;
          return new String(body, from, Math.min(body[from - 1], body.length - from), StandardCharsets.US_ASCII);
        }
      }
      return "";
    } catch (IOException ended) {
      return "";
    }
  }
}
