package io.kvasir.gateway;

import io.kvasir.http.WebSocketFrames;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** An engine on a real socket that serves WebSockets as a test scripts it. */
final class WebSocketEngine implements AutoCloseable {
  static final int TEXT = 1;
  static final int BINARY = 2;
  static final int CLOSE = 8;
  static final int PING = 9;
  static final int PONG = 10;

  /** What it does with a connection whose request has come. */
  @FunctionalInterface
  interface Script {
    void serve(Connection connection) throws Exception;
  }

  /** A frame, without its mask. */
  record Frame(boolean last, int opcode, byte[] payload) {
    String text() {
      return new String(payload, StandardCharsets.UTF_8);
    }

    int closeCode() {
      return (payload[0] & 0xff) << 8 | (payload[1] & 0xff);
    }
  }

  private final ServerSocket server;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private final BlockingQueue<Connection> connections = new LinkedBlockingQueue<>();
  private final Script script;

  WebSocketEngine(Script script) {
    this(listener(), script);
  }

  /** One that listens there, perhaps with TLS. */
  WebSocketEngine(ServerSocket server, Script script) {
    this.server = server;
    this.script = script;
    Thread.ofVirtual().start(this::accept);
  }

  private static ServerSocket listener() {
    try {
      return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** One that accepts, and answers each frame with the same, a ping with a pong, and a close frame with its own. */
  static WebSocketEngine echo() {
    return new WebSocketEngine(WebSocketEngine::echo);
  }

  /** Accepts and sends everything back. */
  static void echo(Connection connection) throws IOException {
    connection.accept();
    connection.echo();
  }

  int port() {
    return server.getLocalPort();
  }

  URI url() {
    return URI.create("http://127.0.0.1:" + server.getLocalPort());
  }

  /** The next connection, waited for. */
  Connection next() throws InterruptedException {
    Connection next = connections.poll(60, TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("nobody connected");
    }
    return next;
  }

  /** Closes every connection, as the end of the process does. */
  void kill() {
    close();
  }

  @Override
  public void close() {
    try {
      server.close();
      for (Socket socket : sockets) {
        socket.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        Socket socket = server.accept();
        sockets.add(socket);
        Thread.ofVirtual().start(() -> serve(socket));
      } catch (IOException e) {
        return;
      }
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      Connection connection = new Connection(socket);
      connections.add(connection);
      script.serve(connection);
    } catch (Exception e) {
      // The other end has closed it, or the test is over.
    }
  }

  /** One connection, from its request on. */
  static final class Connection {
    final String head;
    final BlockingQueue<Frame> received = new LinkedBlockingQueue<>();
    private final Socket socket;
    private final DataInputStream in;
    private final OutputStream out;
    private volatile boolean ended;

    Connection(Socket socket) throws IOException {
      this.socket = socket;
      this.in = new DataInputStream(socket.getInputStream());
      this.out = socket.getOutputStream();
      StringBuilder read = new StringBuilder();
      while (read.indexOf("\r\n\r\n") < 0) {
        read.append((char) in.readUnsignedByte());
      }
      head = read.toString();
    }

    /** A header of the request; null without it. */
    @Nullable String header(String name) {
      return head.lines()
          .filter(line -> line.toLowerCase(Locale.ROOT).startsWith(name.toLowerCase(Locale.ROOT) + ": "))
          .map(line -> line.substring(name.length() + 2)).findFirst().orElse(null);
    }

    void accept() throws IOException {
      write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Accept: " + acceptOf(header("Sec-WebSocket-Key")) + "\r\n\r\n")
          .getBytes(StandardCharsets.US_ASCII));
    }

    void echo() throws IOException {
      while (true) {
        Frame frame = read();
        if (frame.opcode == PING) {
          send(new Frame(true, PONG, frame.payload));
        } else if (frame.opcode != PONG) {
          send(frame);
        }
        if (frame.opcode == CLOSE) {
          return;
        }
      }
    }

    Frame read() throws IOException {
      try {
        Frame frame = readFrame(in);
        if (frame.payload.length < 1024) {
          received.add(frame);
        }
        return frame;
      } catch (IOException e) {
        ended = true;
        throw e;
      }
    }

    /** Whether reading has met the end. */
    boolean hasEnded() {
      return ended;
    }

    void send(Frame frame) throws IOException {
      write(bytes(frame));
    }

    void write(byte[] bytes) throws IOException {
      out.write(bytes);
      out.flush();
    }

    void close() throws IOException {
      socket.close();
    }
  }

  static String acceptOf(@Nullable String key) {
    try {
      byte[] hash = MessageDigest.getInstance("SHA-1")
          .digest((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes(StandardCharsets.US_ASCII));
      return Base64.getEncoder().encodeToString(hash);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  /** The next frame, unmasked. */
  static Frame readFrame(DataInputStream in) throws IOException {
    int first = in.readUnsignedByte();
    int second = in.readUnsignedByte();
    long length = second & 0x7f;
    if (length == 126) {
      length = in.readUnsignedShort();
    } else if (length == 127) {
      length = in.readLong();
    }
    byte[] mask = new byte[4];
    if ((second & 0x80) != 0) {
      in.readFully(mask);
    }
    byte[] payload = new byte[(int) length];
    in.readFully(payload);
    for (int i = 0; i < payload.length; i++) {
      payload[i] ^= mask[i % 4];
    }
    return new Frame((first & 0x80) != 0, first & 0x0f, payload);
  }

  /** A server's frame as it goes over the wire. */
  static byte[] bytes(Frame frame) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write((frame.last ? 0x80 : 0) | frame.opcode);
    int length = frame.payload.length;
    if (length < 126) {
      bytes.write(length);
    } else if (length < 1 << 16) {
      bytes.write(126);
      bytes.write(length >> 8);
      bytes.write(length);
    } else {
      bytes.write(127);
      for (int shift = 56; shift >= 0; shift -= 8) {
        bytes.write((int) ((long) length >> shift));
      }
    }
    bytes.writeBytes(frame.payload);
    return bytes.toByteArray();
  }

  /** The same as a client sends it, with a mask of zeros. */
  static byte[] masked(Frame frame) {
    byte[] plain = bytes(frame);
    int header = plain.length - frame.payload.length;
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(plain, 0, 1);
    bytes.write(plain[1] | 0x80);
    bytes.write(plain, 2, header - 2);
    bytes.writeBytes(new byte[4]);
    bytes.writeBytes(frame.payload);
    return bytes.toByteArray();
  }

  /** Where frames end in these bytes, which is what the router has to know of them. */
  static boolean areWhole(byte[] bytes) {
    WebSocketFrames frames = new WebSocketFrames();
    frames.read(bytes, 0, bytes.length);
    return frames.isBetween();
  }
}
