package io.kvasir.sim.http;

import io.kvasir.sim.http.SimHttpReader.ReadRequest;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** An HTTP request and its response. Used by the handler's thread, but for what says otherwise. */
public final class SimHttpExchange {
  private static final byte[] CRLF = {'\r', '\n'};
  private static final byte[] LAST_CHUNK = "0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private final ReadRequest request;
  private final String path;
  private final String query;
  private final SimHttpSocket socket;
  private final ArrivalOrder.Place place;
  private final AtomicReference<@Nullable Runnable> cancelAction = new AtomicReference<>();
  private volatile boolean cancelled;
  private boolean started;

  /** Whether all of the answer is sent, or about to be: the client may have it before the thread that writes knows. */
  private volatile boolean ended;

  private byte[] chunk = new byte[512];
  private String moreHeaders = "";

  SimHttpExchange(ReadRequest request, SimHttpSocket socket, ArrivalOrder.Place place) {
    String target = request.target();
    int mark = target.indexOf('?');
    this.request = request;
    this.path = mark < 0 ? target : target.substring(0, mark);
    this.query = mark < 0 ? "" : target.substring(mark + 1);
    this.socket = socket;
    this.place = place;
  }

  /** The request's method, as sent. */
  public String method() {
    return request.method();
  }

  /** The request's path, without the query. */
  public String path() {
    return path;
  }

  /** A query parameter's value, the first of several, or null. */
  public @Nullable String query(String name) {
    List<String> values = queryValues(name);
    return values.isEmpty() ? null : values.getFirst();
  }

  /** All values of a query parameter. */
  public List<String> queryValues(String name) {
    List<String> values = new ArrayList<>();
    for (String pair : query.split("&", -1)) {
      int equals = pair.indexOf('=');
      if (decode(equals < 0 ? pair : pair.substring(0, equals)).equals(name)) {
        values.add(equals < 0 ? "" : decode(pair.substring(equals + 1)));
      }
    }
    return values;
  }

  private static String decode(String text) {
    return URLDecoder.decode(text, StandardCharsets.UTF_8);
  }

  /** A header's value, or null; {@code name} in lower case. */
  public @Nullable String header(String name) {
    return request.headers().get(name);
  }

  /** The request's body; empty when it has none. */
  public byte[] body() {
    return request.body();
  }

  /** Waits until every request that came earlier, on whichever connection, is answered or lets later ones pass. */
  public void awaitEarlier() {
    place.await();
  }

  /** Requests that came later need not wait for this one any more. Idempotent. */
  public void letLaterPass() {
    place.leave();
  }

  /** Whether nothing of the answer has been sent yet. */
  public boolean isUncommitted() {
    return !started;
  }

  /**
   * Calls {@code action} once when the client closes the connection before the answer is complete, or now if it has. It
   * replaces the action set before.
   */
  public void onCancelled(Runnable action) {
    cancelAction.set(action);
    if (cancelled) {
      runCancelAction();
    }
  }

  /** Before an answer: gives its head another header. */
  public void addHeader(String name, String value) {
    moreHeaders += name + ": " + value + "\r\n";
  }

  /** Answers at once. */
  public void reply(int status, String contentType, byte[] content) throws IOException {
    started = true;
    StringBuilder head = head(status, contentType);
    head.append("content-length: ").append(content.length).append("\r\n\r\n");
    byte[] headBytes = head.toString().getBytes(StandardCharsets.ISO_8859_1);
    boolean bodiless = method().equals("HEAD");
    byte[] all = new byte[headBytes.length + (bodiless ? 0 : content.length)];
    System.arraycopy(headBytes, 0, all, 0, headBytes.length);
    if (!bodiless) {
      System.arraycopy(content, 0, all, headBytes.length, content.length);
    }
    writeLast(all);
  }

  private void writeLast(byte[] bytes) throws IOException {
    ByteBuffer rest = ByteBuffer.wrap(bytes);
    ended = true;
    while (!socket.writeNow(rest)) {
      ended = false;
      socket.awaitRoom();
      ended = true;
    }
  }

  /** Starts an answer of unknown length; {@link #send} follows, then {@link #end}. */
  public void start(int status, String contentType) throws IOException {
    started = true;
    StringBuilder head = head(status, contentType);
    head.append("transfer-encoding: chunked\r\n\r\n");
    byte[] headBytes = head.toString().getBytes(StandardCharsets.ISO_8859_1);
    socket.write(headBytes, headBytes.length);
  }

  /** Sends a part of the answer now, as one chunk. Nothing for an empty part. */
  public void send(CharSequence part) throws IOException {
    if (part.isEmpty()) {
      return;
    }
    byte[] content = part.toString().getBytes(StandardCharsets.UTF_8);
    byte[] size = Integer.toHexString(content.length).getBytes(StandardCharsets.US_ASCII);
    int length = size.length + content.length + 2 * CRLF.length;
    if (chunk.length < length) {
      chunk = new byte[length * 2];
    }
    int at = put(size, 0);
    at = put(CRLF, at);
    at = put(content, at);
    at = put(CRLF, at);
    socket.write(chunk, at);
  }

  /** Ends an answer begun with {@link #start}. */
  public void end() throws IOException {
    writeLast(LAST_CHUNK);
  }

  /** Drops the connection in the middle of the answer. */
  public void dropConnection() {
    socket.close();
  }

  /** Drops the connection with a reset, as a process that dies with unread data does. */
  public void reset() {
    socket.reset();
  }

  /** Whether the client may have all of the answer. Any thread. */
  boolean isEnded() {
    return ended;
  }

  /** Whether the answer is whole and the connection may carry another request. */
  boolean complete() {
    return ended && request.keepAlive() && socket.isOpen();
  }

  /** Answers an unexpected failure if nothing was sent yet. */
  boolean fail() {
    if (started) {
      return false;
    }
    try {
      reply(500, "text/plain; charset=utf-8", "Internal Server Error".getBytes(StandardCharsets.UTF_8));
      return complete();
    } catch (IOException e) {
      return false;
    }
  }

  void cancel() {
    cancelled = true;
    runCancelAction();
  }

  private void runCancelAction() {
    Runnable action = cancelAction.getAndSet(null);
    if (action != null) {
      action.run();
    }
  }

  private int put(byte[] part, int at) {
    System.arraycopy(part, 0, chunk, at, part.length);
    return at + part.length;
  }

  private StringBuilder head(int status, String contentType) {
    StringBuilder head = new StringBuilder(256);
    head.append("HTTP/1.1 ").append(status).append(' ').append(reason(status)).append("\r\n");
    head.append("server: uvicorn\r\n").append(moreHeaders);
    if (!contentType.isEmpty()) {
      head.append("content-type: ").append(contentType).append("\r\n");
    }
    if (!request.keepAlive()) {
      head.append("connection: close\r\n");
    }
    return head;
  }

  private static String reason(int status) {
    return switch (status) {
      case 200 -> "OK";
      case 400 -> "Bad Request";
      case 404 -> "Not Found";
      case 405 -> "Method Not Allowed";
      case 413 -> "Content Too Large";
      case 429 -> "Too Many Requests";
      case 431 -> "Request Header Fields Too Large";
      case 500 -> "Internal Server Error";
      case 501 -> "Not Implemented";
      case 503 -> "Service Unavailable";
      default -> "Status";
    };
  }
}
