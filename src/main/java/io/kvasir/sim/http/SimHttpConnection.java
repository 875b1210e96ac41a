package io.kvasir.sim.http;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One connection: its thread reads requests, each is handled on another, one at a time. */
final class SimHttpConnection {
  private static final Logger LOG = LoggerFactory.getLogger(SimHttpConnection.class);
  private static final int MAX_HEAD_BYTES = 64 * 1024;
  private static final byte[] CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private final Socket socket;
  private final InputStream in;
  private final SimHttpLimits limits;
  private final SimHttpHandler handler;
  private final ArrivalOrder arrivals;
  private final Semaphore turn = new Semaphore(1);
  private final byte[] buffer = new byte[16 * 1024];
  private int position;
  private int limit;
  private int headBytes;
  private volatile @Nullable SimHttpExchange current;
  private volatile long idleSince = System.nanoTime();

  SimHttpConnection(Socket socket, SimHttpLimits limits, SimHttpHandler handler, ArrivalOrder arrivals)
      throws IOException {
    this.socket = socket;
    this.in = socket.getInputStream();
    this.limits = limits;
    this.handler = handler;
    this.arrivals = arrivals;
  }

  /** Reads requests until the client closes the connection, is idle too long or breaks the protocol. */
  void run() throws IOException {
    try {
      while (awaitRequest()) {
        SimHttpExchange exchange = readRequest();
        if (!turn.tryAcquire()) {
          exchange.letLaterPass(); // it waits for another's answer
          turn.acquireUninterruptibly();
        }
        if (socket.isClosed()) {
          exchange.letLaterPass();
          return;
        }
        current = exchange;
        Thread.startVirtualThread(() -> handle(exchange));
      }
    } catch (ProtocolException e) {
      turn.acquireUninterruptibly();
      if (!socket.isClosed()) {
        SimHttpExchange refusal = new SimHttpExchange("", "", Map.of(), new byte[0], socket, false, arrivals.next());
        refusal.letLaterPass();
        refusal.reply(e.status, "text/plain; charset=utf-8", e.text.getBytes(StandardCharsets.UTF_8));
      }
    } finally {
      SimHttpExchange open = current;
      if (open != null) {
        open.cancel();
      }
    }
  }

  private void handle(SimHttpExchange exchange) {
    boolean reusable = false;
    try {
      handler.handle(exchange);
      reusable = exchange.complete();
    } catch (IOException e) {
      LOG.trace("A client closed its connection before the answer was written", e);
    } catch (RuntimeException e) {
      LOG.error("{} {} failed", exchange.method(), exchange.path(), e);
      reusable = exchange.fail();
    } finally {
      exchange.letLaterPass();
      idleSince = System.nanoTime();
      current = null;
      if (!reusable) {
        SimHttpExchange.closeQuietly(socket);
      }
      turn.release();
    }
  }

  /** Waits for a request's first byte; false when the client closed or was idle for too long. */
  private boolean awaitRequest() throws IOException {
    if (position < limit) {
      return true;
    }
    long rest = limits.idle().toMillis();
    while (rest > 0) {
      socket.setSoTimeout((int) rest);
      try {
        return fill();
      } catch (SocketTimeoutException e) {
        long idle = current == null ? (System.nanoTime() - idleSince) / 1_000_000 : 0;
        rest = limits.idle().toMillis() - idle;
      }
    }
    return false;
  }

  private SimHttpExchange readRequest() throws IOException, ProtocolException {
    socket.setSoTimeout(0);
    headBytes = 0;
    String[] start = readLine().split(" ", -1);
    if (start.length != 3 || !start[2].startsWith("HTTP/1.")) {
      throw new ProtocolException(400, "Invalid HTTP request received.");
    }
    Map<String, String> headers = new TreeMap<>();
    for (String line = readLine(); !line.isEmpty(); line = readLine()) {
      int colon = line.indexOf(':');
      if (colon <= 0) {
        throw new ProtocolException(400, "Invalid HTTP request received.");
      }
      headers.merge(
          line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).strip(), (a, b) -> a + ", " + b);
    }
    if ("100-continue".equalsIgnoreCase(headers.get("expect"))) {
      socket.getOutputStream().write(CONTINUE);
    }
    byte[] body = readBody(headers);
    String connection = headers.getOrDefault("connection", "").toLowerCase(Locale.ROOT);
    boolean keep = start[2].equals("HTTP/1.0") ? connection.contains("keep-alive") : !connection.contains("close");
    return new SimHttpExchange(start[0], start[1], headers, body, socket, keep, arrivals.next());
  }

  private byte[] readBody(Map<String, String> headers) throws IOException, ProtocolException {
    if (headers.getOrDefault("transfer-encoding", "").toLowerCase(Locale.ROOT).contains("chunked")) {
      return readChunks();
    }
    String declared = headers.get("content-length");
    if (declared == null) {
      return new byte[0];
    }
    int length = checkedLength(declared, 10);
    byte[] body = new byte[length];
    readFully(body, length);
    return body;
  }

  private byte[] readChunks() throws IOException, ProtocolException {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    while (true) {
      headBytes = 0;
      String size = readLine();
      int extension = size.indexOf(';');
      int length = checkedLength(extension < 0 ? size : size.substring(0, extension), 16);
      if (length == 0) {
        while (!readLine().isEmpty()) {
          // trailers are ignored
        }
        return body.toByteArray();
      }
      if (body.size() + length > limits.bodyBytes()) {
        throw tooLarge();
      }
      byte[] chunk = new byte[length];
      readFully(chunk, length);
      body.write(chunk, 0, length);
      if (!readLine().isEmpty()) {
        throw new ProtocolException(400, "Invalid HTTP request received.");
      }
    }
  }

  private int checkedLength(String text, int radix) throws ProtocolException {
    long length;
    try {
      length = Long.parseLong(text.strip(), radix);
    } catch (NumberFormatException e) {
      throw new ProtocolException(400, "Invalid HTTP request received.");
    }
    if (length < 0) {
      throw new ProtocolException(400, "Invalid HTTP request received.");
    }
    if (length > limits.bodyBytes()) {
      throw tooLarge();
    }
    return (int) length;
  }

  private ProtocolException tooLarge() {
    return new ProtocolException(413, "The request body is larger than " + limits.bodyBytes() + " bytes.");
  }

  private void readFully(byte[] into, int length) throws IOException {
    int buffered = Math.min(length, limit - position);
    System.arraycopy(buffer, position, into, 0, buffered);
    position += buffered;
    int rest = length - buffered;
    if (in.readNBytes(into, buffered, rest) < rest) {
      throw new EOFException("The client closed the connection within its request");
    }
  }

  private String readLine() throws IOException, ProtocolException {
    StringBuilder line = new StringBuilder(64);
    while (true) {
      if (position == limit && !fill()) {
        throw new EOFException("The client closed the connection within its request");
      }
      int from = position;
      while (position < limit && buffer[position] != '\n') {
        position++;
      }
      line.append(new String(buffer, from, position - from, StandardCharsets.ISO_8859_1));
      headBytes += position - from;
      if (headBytes > MAX_HEAD_BYTES) {
        throw new ProtocolException(431, "The request head is larger than " + MAX_HEAD_BYTES + " bytes.");
      }
      if (position < limit) {
        position++;
        int length = line.length();
        if (length > 0 && line.charAt(length - 1) == '\r') {
          line.setLength(length - 1);
        }
        return line.toString();
      }
    }
  }

  private boolean fill() throws IOException {
    int read = in.read(buffer, 0, buffer.length);
    position = 0;
    limit = Math.max(0, read);
    return read > 0;
  }

  /** The client sent something that is not HTTP/1.x. */
  private static final class ProtocolException extends Exception {
    private static final long serialVersionUID = 1;
    private final int status;
    private final String text;

    ProtocolException(int status, String text) {
      super(text, null, false, false);
      this.status = status;
      this.text = text;
    }
  }
}
