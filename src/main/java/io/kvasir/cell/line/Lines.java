package io.kvasir.cell.line;

import java.io.IOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** A node's lines to all others, and theirs to it. Thread-safe. */
public final class Lines implements AutoCloseable {
  /** After a line broke, its node is asked in other ways for this long. */
  private static final long PAUSE_NANOS = Duration.ofSeconds(1).toNanos();

  private final LineSockets sockets;
  private final ServerSocket listening;
  private final int port;
  private final Map<LineAddress, Line> lines = new ConcurrentHashMap<>();
  private final Map<LineAddress, Long> brokenNanos = new ConcurrentHashMap<>();
  private @Nullable LineServer server;
  private volatile boolean closed;

  private Lines(LineSockets sockets, ServerSocket listening, int advertised) {
    this.sockets = sockets;
    this.listening = listening;
    this.port = advertised == 0 ? listening.getLocalPort() : advertised;
  }

  /**
   * Takes a port, on which nobody is answered before {@link #answer}.
   *
   * @param tls how nodes know each other, null when anybody may ask who reaches the port
   * @throws IOException when the port is taken
   */
  public static Lines at(LineSettings settings, @Nullable LineTls tls) throws IOException {
    LineSockets sockets = new LineSockets(settings.from(), tls);
    return new Lines(sockets, sockets.listen(settings.host(), settings.port()), settings.advertised());
  }

  /** Where others find this node. */
  public int port() {
    return port;
  }

  /** Answers from now on, as the node of a name. Once. */
  public synchronized void answer(String node, Answerer answerer) {
    if (server != null) {
      throw new IllegalStateException("somebody answers already");
    }
    server = new LineServer(listening, sockets, node, answerer);
  }

  /**
   * Asks another node. What is asked first is heard first, if it is asked over the same line. Whoever finds no line has
   * one made, for those who come later.
   *
   * @param patience how long the answer is waited for; then the line is closed, for whatever else is asked on it, too
   * @return completes with the answer, or with null when the node passes; or fails, with a {@link
   *     java.util.concurrent.TimeoutException} when no answer came in time, with an {@link IOException} when the line
   *     broke: the question may have been heard. Null when it was not asked, for want of a line
   */
  public @Nullable CompletableFuture<byte @Nullable []> ask(LineAddress to, byte[] question, Duration patience) {
    Line line = lines.get(to);
    if (line == null) {
      open(to);
      return null;
    }
    return line.ask(question, patience);
  }

  private void open(LineAddress to) {
    Long broken = brokenNanos.get(to);
    if (!closed && (broken == null || System.nanoTime() - broken > PAUSE_NANOS)) {
      Line line = new Line(to, sockets, () -> broken(to));
      if (lines.putIfAbsent(to, line) == null) {
        line.open();
      }
    }
  }

  private void broken(LineAddress to) {
    // Nodes that are gone for good are few, but a process may outlive many.
    brokenNanos.values().removeIf(at -> System.nanoTime() - at > PAUSE_NANOS);
    brokenNanos.put(to, System.nanoTime());
    lines.remove(to);
  }

  /** Hangs up everywhere. Idempotent. */
  @Override
  public synchronized void close() {
    closed = true;
    lines.values().forEach(Line::close);
    LineSockets.close(listening);
    if (server != null) {
      server.close();
    }
  }
}
