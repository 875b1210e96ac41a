package io.kvasir.http.client;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A pod that answers each request with exactly the bytes it was told to. */
final class RawPod implements Closeable {
  /** What a connection's n-th request is answered with. */
  interface Script {
    void answer(Request request, RawConnection wire) throws Exception;
  }

  /** A request as it came; {@code connection} counts from 1. */
  record Request(String head, String body, int connection) {}

  /** The connection, to write to and to close. */
  record RawConnection(Socket socket, OutputStream out, InputStream in) {
    void write(String text) throws IOException {
      out.write(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    void close() throws IOException {
      socket.close();
    }

    void reset() throws IOException {
      socket.setSoLinger(true, 0);
      socket.close();
    }
  }

  private final ServerSocket listener;
  private final Script script;
  private final String scheme;
  private final AtomicInteger connections = new AtomicInteger();
  private final List<Socket> open = new CopyOnWriteArrayList<>();

  RawPod(Script script) throws IOException {
    this(new ServerSocket(0), "http", script);
  }

  RawPod(ServerSocket listener, String scheme, Script script) {
    this.listener = listener;
    this.scheme = scheme;
    this.script = script;
    Thread.startVirtualThread(this::accept);
  }

  URI uri() {
    return URI.create(scheme + "://localhost:" + listener.getLocalPort());
  }

  int connections() {
    return connections.get();
  }

  private void accept() {
    try {
      while (true) {
        Socket socket = listener.accept();
        open.add(socket);
        int number = connections.incrementAndGet();
        Thread.startVirtualThread(() -> serve(socket, number));
      }
    } catch (IOException e) {
      // The test has ended.
      return;
    }
  }

  private void serve(Socket socket, int connection) {
    try (socket) {
      InputStream in = new BufferedInputStream(socket.getInputStream());
      RawConnection wire = new RawConnection(socket, socket.getOutputStream(), in);
      while (true) {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n", Math.max(0, head.length() - 4)) < 0) {
          int c = in.read();
          if (c < 0) {
            return;
          }
          head.append((char) c);
        }
        int at = head.toString().toLowerCase(Locale.ROOT).indexOf("content-length: ");
        int length = at < 0 ? 0 : Integer.parseInt(head.substring(at + 16, head.indexOf("\r", at)));
        String body = new String(in.readNBytes(length), StandardCharsets.UTF_8);
        script.answer(new Request(head.toString(), body, connection), wire);
      }
    } catch (Exception e) {
      // The client left, or the script closed the connection.
      return;
    }
  }

  /** Closes every connection, as an engine does whose keep-alive has ended. */
  void closeConnections() throws IOException {
    for (Socket socket : open) {
      socket.close();
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    closeConnections();
  }
}
