package io.kvasir.http.client;

import io.kvasir.http.Headers;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** An engine's endpoint on a real socket that answers as a test scripts it. */
public final class ScriptedPod implements AutoCloseable {
  /** One request as it came. */
  public record ReceivedRequest(String method, String target, Headers headers, byte[] body) {
    public String text() {
      return new String(body, StandardCharsets.UTF_8);
    }
  }

  /** How to answer; returning without an answer closes the connection. */
  @FunctionalInterface
  public interface Script {
    void answer(ReceivedRequest request, ScriptedResponse out) throws Exception;
  }

  /** The requests seen, in order. */
  public final BlockingQueue<ReceivedRequest> seen = new LinkedBlockingQueue<>();

  private final ServerSocket server;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private volatile Script script;

  public ScriptedPod(Script script) {
    this.script = script;
    try {
      // Hundreds may connect at once: who does not fit is left to TCP's retries, some of them a minute apart.
      server = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Thread.ofVirtual().start(this::accept);
  }

  public URI url() {
    return URI.create("http://127.0.0.1:" + server.getLocalPort());
  }

  public void script(Script next) {
    script = next;
  }

  /** The next request, waited for. */
  public ReceivedRequest next() throws InterruptedException {
    ReceivedRequest next = seen.poll(60, TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("the pod was not asked");
    }
    return next;
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
      socket.setTcpNoDelay(true);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      while (true) {
        ReceivedRequest request = read(in);
        if (request == null) {
          return;
        }
        seen.add(request);
        ScriptedResponse out = new ScriptedResponse(socket, in);
        script.answer(request, out);
        if (!out.complete) {
          return;
        }
      }
    } catch (Exception e) {
      // The other side's doing, or the script's: either way the connection ends.
    } finally {
      sockets.remove(socket);
    }
  }

  private static @Nullable ReceivedRequest read(InputStream in) throws IOException {
    String first = line(in);
    if (first == null) {
      return null;
    }
    String[] parts = first.split(" ", -1);
    Headers.Builder builder = Headers.builder();
    for (String line = line(in); line != null && !line.isEmpty(); line = line(in)) {
      int colon = line.indexOf(':');
      builder.add(line.substring(0, colon), line.substring(colon + 1).strip());
    }
    Headers headers = builder.build();
    String length = headers.first("Content-Length");
    byte[] body = in.readNBytes(length == null ? 0 : Integer.parseInt(length));
    return new ReceivedRequest(parts[0], parts[1], headers, body);
  }

  private static @Nullable String line(InputStream in) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        return null;
      }
      if (c != '\r') {
        line.write(c);
      }
    }
    return line.toString(StandardCharsets.UTF_8);
  }

  /** The way back to the router. */
  public static final class ScriptedResponse {
    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;
    private boolean complete;

    private ScriptedResponse(Socket socket, InputStream in) throws IOException {
      this.socket = socket;
      this.in = in;
      this.out = socket.getOutputStream();
    }

    /** Bytes as they are. */
    public ScriptedResponse raw(String text) throws IOException {
      out.write(text.getBytes(StandardCharsets.UTF_8));
      out.flush();
      return this;
    }

    /** A whole answer. */
    public void json(int status, String body, String... headers) throws IOException {
      full(status, "application/json", body, headers);
    }

    public void full(int status, String type, String body, String... headers) throws IOException {
      raw("HTTP/1.1 " + status + " X\r\nContent-Type: " + type + "\r\nContent-Length: "
          + body.getBytes(StandardCharsets.UTF_8).length + "\r\n" + fields(headers) + "\r\n" + body);
      complete = true;
    }

    /** The head of a chunked event stream. */
    public ScriptedResponse events(String... headers) throws IOException {
      return raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
          + "Transfer-Encoding: chunked\r\n" + fields(headers) + "\r\n");
    }

    public ScriptedResponse chunk(String text) throws IOException {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      return raw(Integer.toHexString(bytes.length) + "\r\n" + text + "\r\n");
    }

    /** The end of a chunked body. */
    public void end() throws IOException {
      raw("0\r\n\r\n");
      complete = true;
    }

    /** A whole stream. */
    public void stream(List<String> events) throws IOException {
      events();
      for (String event : events) {
        chunk(event);
      }
      end();
    }

    /** Waits until the router closes the connection. */
    public void awaitClosed() throws IOException {
      socket.setSoTimeout(60_000);
      if (in.read() >= 0) {
        throw new IOException("more came");
      }
    }

    /** Resets the connection. */
    public void reset() throws IOException {
      socket.setSoLinger(true, 0);
      socket.close();
    }

    private static String fields(String... headers) {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < headers.length; i += 2) {
        text.append(headers[i]).append(": ").append(headers[i + 1]).append("\r\n");
      }
      return text.toString();
    }
  }
}
