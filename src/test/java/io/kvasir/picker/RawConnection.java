package io.kvasir.picker;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.kvasir.picker.extproc.ProcessingResponse;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A proxy's connection without a library for gRPC, which would send whole messages only: HTTP/2 by hand, as far as it
 * takes. It minds the windows of streams, and is given up as soon as the other side ends it.
 */
final class RawConnection implements AutoCloseable {
  private static final byte DATA = 0;
  private static final byte HEADERS = 1;
  private static final byte RESET = 3;
  private static final byte SETTINGS = 4;
  private static final byte GO_AWAY = 7;
  private static final byte WINDOW_UPDATE = 8;
  private static final int END_STREAM = 1;
  private static final int ACK = 1;
  private static final int END_HEADERS = 4;
  private static final int INITIAL_WINDOW_SETTING = 4;

  private final Socket socket;
  private final DataOutputStream out;
  private final Map<Integer, Stream> streams = new HashMap<>();
  private int lastStream = -1;

  // Guarded by this.
  private long window = 65_535;
  private long streamWindow = 65_535;
  private boolean ended;

  RawConnection(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    out = new DataOutputStream(socket.getOutputStream());
    out.writeBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    write(SETTINGS, 0, 0, new byte[0]);
    Thread.ofVirtual().start(this::read);
  }

  /** A stream that has begun, by its head. */
  synchronized Stream stream() throws IOException {
    lastStream += 2;
    Stream stream = new Stream(lastStream);
    stream.window = streamWindow;
    streams.put(lastStream, stream);
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    field(block, ":method", "POST");
    field(block, ":scheme", "http");
    field(block, ":path", "/" + ProcessMethod.DESCRIPTOR.getFullMethodName());
    field(block, ":authority", "picker");
    field(block, "content-type", "application/grpc");
    field(block, "te", "trailers");
    write(HEADERS, END_HEADERS, lastStream, block.toByteArray());
    return stream;
  }

  /** A field that is in no table, by RFC 7541, 6.2.2. */
  private static void field(ByteArrayOutputStream block, String name, String value) {
    block.write(0);
    block.write(name.length());
    block.writeBytes(name.getBytes(US_ASCII));
    block.write(value.length());
    block.writeBytes(value.getBytes(US_ASCII));
  }

  private synchronized void write(byte type, int flags, int stream, byte[] payload) throws IOException {
    out.writeByte(payload.length >> 16);
    out.writeShort(payload.length);
    out.writeByte(type);
    out.writeByte(flags);
    out.writeInt(stream);
    out.write(payload);
    out.flush();
  }

  private void read() {
    try {
      DataInputStream in = new DataInputStream(socket.getInputStream());
      while (true) {
        int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
        byte type = in.readByte();
        int flags = in.readUnsignedByte();
        int stream = in.readInt();
        come(type, flags, stream, in.readNBytes(length));
      }
    } catch (IOException end) {
      synchronized (this) {
        ended = true;
        notifyAll();
      }
    }
  }

  private synchronized void come(byte type, int flags, int id, byte[] payload) throws IOException {
    Stream stream = streams.get(id);
    switch (type) {
      case DATA -> {
        if (stream != null) {
          stream.come.writeBytes(payload);
          stream.progress();
        }
      }
      case RESET -> {
        if (stream != null) {
          stream.end("reset " + ByteBuffer.wrap(payload).getInt());
        }
      }
      case HEADERS -> {
        if (stream != null && (flags & END_STREAM) != 0) {
          stream.end("in peace");
        }
      }
      case SETTINGS -> {
        if ((flags & ACK) == 0) {
          for (ByteBuffer settings = ByteBuffer.wrap(payload); settings.hasRemaining(); ) {
            int name = settings.getShort();
            int value = settings.getInt();
            if (name == INITIAL_WINDOW_SETTING) {
              for (Stream each : streams.values()) {
                each.window += value - streamWindow;
              }
              streamWindow = value;
            }
          }
          write(SETTINGS, ACK, 0, new byte[0]);
        }
      }
      case WINDOW_UPDATE -> {
        int more = ByteBuffer.wrap(payload).getInt();
        if (stream != null) {
          stream.window += more;
        } else if (id == 0) {
          window += more;
        }
      }
      case GO_AWAY -> throw new IOException("the connection is being ended");
      default -> {}
    }
    notifyAll();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  /** One of its streams. */
  final class Stream {
    private final int id;
    private final ByteArrayOutputStream come = new ByteArrayOutputStream();
    private final BlockingQueue<ProcessingResponse> replies = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> end = new LinkedBlockingQueue<>();
    private boolean isOver;
    private long window;

    private Stream(int id) {
      this.id = id;
    }

    /** A part of a message, in frames of so many bytes at most; what does not go before the stream's end is dropped. */
    Stream send(ByteString part, int frame) throws Exception {
      for (int at = 0; at < part.size(); ) {
        int length = Math.min(frame, part.size() - at);
        synchronized (RawConnection.this) {
          while (!isOver && !ended && (window < length || RawConnection.this.window < length)) {
            RawConnection.this.wait();
          }
          if (ended) {
            throw new IOException("the picker has ended the connection");
          }
          if (isOver) {
            return this;
          }
          window -= length;
          RawConnection.this.window -= length;
          write(DATA, 0, id, part.substring(at, at + length).toByteArray());
        }
        at += length;
      }
      return this;
    }

    private void progress() throws InvalidProtocolBufferException {
      ByteBuffer bytes = ByteBuffer.wrap(come.toByteArray());
      while (bytes.remaining() >= 5 && bytes.remaining() >= 5 + bytes.getInt(bytes.position() + 1)) {
        bytes.get();
        ByteBuffer message = bytes.slice(bytes.position() + 4, bytes.getInt(bytes.position()));
        bytes.position(bytes.position() + 4 + message.remaining());
        replies.add(ProcessingResponse.parseFrom(message));
      }
      byte[] rest = new byte[bytes.remaining()];
      bytes.get(rest);
      come.reset();
      come.writeBytes(rest);
    }

    private void end(String how) {
      isOver = true;
      end.add(how);
    }

    /** The status of the answer in the worker's place, with which the stream has ended; waited for. */
    int answered() throws InterruptedException {
      ProcessingResponse reply = replies.poll(20, TimeUnit.SECONDS);
      if (reply == null || !reply.hasImmediateResponse() || !"in peace".equals(end.poll(20, TimeUnit.SECONDS))) {
        throw new AssertionError("not answered but " + reply);
      }
      return reply.getImmediateResponse().getStatus().getCode();
    }

    /** Whether it has been answered. */
    boolean isOver() {
      synchronized (RawConnection.this) {
        return isOver;
      }
    }
  }
}
