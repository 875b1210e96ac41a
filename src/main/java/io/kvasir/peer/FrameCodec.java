package io.kvasir.peer;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;

/**
 * What is said on a line. First who asks says whom it means: {@link #MAGIC}, and the node's name in UTF-8 after its
 * length in two bytes; who is meant says {@link #WELCOME}, anybody else hangs up. Then frames, both ways: the length of
 * what follows in four bytes, eight bytes that number the question, and the question or its answer; an answer of no
 * bytes says that there is none. Numbers are big-endian.
 */
final class FrameCodec {
  /** "KVL1": lines of this kind. */
  static final int MAGIC = 0x4B564C31;

  static final int WELCOME = 0x4B564F4B;

  /** The longest question or answer, in bytes: some million tokens' blocks. */
  static final int MAX_LENGTH = 16 << 20;

  private static final int BUFFER = 64 << 10;

  private FrameCodec() {}

  /**
   * A question or its answer.
   *
   * @param id the asking node's number of the question
   */
  record Frame(long id, byte[] content) {}

  static void writeHello(DataOutputStream out, String meant) throws IOException {
    out.writeInt(MAGIC);
    out.writeUTF(meant);
    out.flush();
  }

  /** The name of the node that is meant. */
  static String readHello(DataInputStream in) throws IOException {
    if (in.readInt() != MAGIC) {
      throw new IOException("who connected does not speak as router nodes do");
    }
    return in.readUTF();
  }

  /** The frame as it is sent. */
  static byte[] encode(long number, byte[] content) {
    return ByteBuffer.allocate(Integer.BYTES + Long.BYTES + content.length)
        .putInt(Long.BYTES + content.length)
        .putLong(number)
        .put(content)
        .array();
  }

  /** The next frame. */
  static Frame read(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < Long.BYTES || length > Long.BYTES + MAX_LENGTH) {
      throw new IOException("a frame of " + length + " bytes, which nobody sends");
    }
    long number = in.readLong();
    byte[] content = new byte[length - Long.BYTES];
    in.readFully(content);
    return new Frame(number, content);
  }

  /** What the other end of a connection says. */
  static DataInputStream input(Socket socket) throws IOException {
    return new DataInputStream(new BufferedInputStream(socket.getInputStream(), BUFFER));
  }
}
