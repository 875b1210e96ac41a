package io.kvasir.peer;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;

/**
 * The protocol of a peer connection. The connecting node first sends {@link #MAGIC} and the name of the node it means,
 * in UTF-8 after its length in two bytes; a node of that name replies {@link #WELCOME}, any other closes the
 * connection. Then frames follow, in both directions: the length of the rest of the frame in four bytes, the id of the
 * request in eight bytes, and the request or its reply. A request without content is a ping, which the other end itself
 * replies to; a reply without content means that the handler has none. Replies may come in any order. Numbers are
 * big-endian.
 */
final class FrameCodec {
  /** "KVL1": the protocol and its version. */
  static final int MAGIC = 0x4B564C31;

  static final int WELCOME = 0x4B564F4B;

  /** The content of a ping, and of a reply when there is none. */
  static final byte[] NO_CONTENT = {};

  private static final int BUFFER = 64 << 10;

  private FrameCodec() {}

  /**
   * A request or its reply.
   *
   * @param id the requesting node's id of the request
   */
  record Frame(long id, byte[] content) {}

  static void writeHello(DataOutputStream out, String expectedNode) throws IOException {
    out.writeInt(MAGIC);
    out.writeUTF(expectedNode);
    out.flush();
  }

  /** Reads the name of the node that the connecting node means. */
  static String readHello(DataInputStream in) throws IOException {
    if (in.readInt() != MAGIC) {
      throw new IOException("the connection does not begin as one of a router node");
    }
    return in.readUTF();
  }

  static byte[] encode(long id, byte[] content) {
    return ByteBuffer.allocate(Integer.BYTES + Long.BYTES + content.length)
        .putInt(Long.BYTES + content.length)
        .putLong(id)
        .put(content)
        .array();
  }

  /**
   * Reads the next frame, waiting for it. Takes memory for what has come, not for what is announced.
   *
   * @param maxLength the longest content, in bytes
   */
  static Frame read(DataInputStream in, int maxLength) throws IOException {
    int length = in.readInt();
    if (length < Long.BYTES || length - Long.BYTES > maxLength) {
      throw new IOException(
          "a frame of " + length + " bytes is not one of this protocol, or longer than " + maxLength + " bytes");
    }
    long id = in.readLong();
    byte[] content = in.readNBytes(length - Long.BYTES);
    if (content.length < length - Long.BYTES) {
      throw new EOFException("the connection ended within a frame");
    }
    return new Frame(id, content);
  }

  static DataInputStream input(Socket socket) throws IOException {
    return new DataInputStream(new BufferedInputStream(socket.getInputStream(), BUFFER));
  }
}
