package io.kvasir.load;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Raw connections of a hostile client, closed by {@link #close}, and what came back over them. Thread-safe. */
final class HostileClient implements AutoCloseable {
  /** What stands for the status of a connection that was cut, and of one that stays silent. */
  private static final String CUT = "cut";
  private static final String SILENT = "silent";

  private final Queue<Socket> sockets = new ConcurrentLinkedQueue<>();
  private final Map<String, Integer> answers = new TreeMap<>();
  private final int port;
  private final long until;

  /**
   * A client.
   *
   * @param port of the listener
   * @param until when it ends, as {@link System#nanoTime} counts
   */
  HostileClient(int port, long until) {
    this.port = port;
    this.until = until;
  }

  /** One of several things done at once. */
  @FunctionalInterface
  interface Action {
    /** What came of it, such as a status. */
    String run(int number) throws IOException, InterruptedException;
  }

  /** Whether there is time left. */
  boolean hasTime() {
    return System.nanoTime() < until;
  }

  /** A connection. */
  Socket connect() throws IOException {
    Socket socket = new Socket();
    sockets.add(socket);
    socket.setTcpNoDelay(true);
    socket.setSoTimeout((int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime())));
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5_000);
    return socket;
  }

  /** Does something so many times at once, and waits for all until its time is over. */
  void atOnce(int times, Action action) throws InterruptedException {
    CountDownLatch left = new CountDownLatch(times);
    for (int i = 0; i < times; i++) {
      int number = i;
      Thread.startVirtualThread(() -> {
        try {
          count(action.run(number));
        } catch (SocketTimeoutException silent) {
          count(SILENT);
        } catch (IOException cut) {
          count(CUT);
        } catch (InterruptedException stopped) {
          Thread.currentThread().interrupt();
        } finally {
          left.countDown();
        }
      });
    }
    if (!left.await(Math.max(0, until - System.nanoTime()), TimeUnit.NANOSECONDS)) {
      close();
      left.await(5, TimeUnit.SECONDS);
    }
  }

  /** Sends a POST and gives the answer's status. */
  String post(String target, byte[] body, String... headers) throws IOException {
    try (Socket socket = connect()) {
      socket.getOutputStream().write(head(target, body.length, headers));
      try {
        socket.getOutputStream().write(body);
      } catch (IOException refusedEarly) {
        return status(socket);
      }
      return status(socket);
    }
  }

  /** The same with a body of text. */
  String post(String target, String body, String... headers) throws IOException {
    return post(target, body.getBytes(StandardCharsets.UTF_8), headers);
  }

  /** Sends anything and gives the status of the answer. */
  String raw(String text) throws IOException {
    try (Socket socket = connect()) {
      socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
      return status(socket);
    }
  }

  /** The head of a POST. */
  static byte[] head(String target, long length, String... headers) {
    StringBuilder head = new StringBuilder("POST " + target + " HTTP/1.1\r\nHost: router\r\nContent-Length: " + length);
    for (int i = 0; i < headers.length; i += 2) {
      head.append("\r\n").append(headers[i]).append(": ").append(headers[i + 1]);
    }
    return head.append("\r\nContent-Type: application/json\r\n\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
  }

  /** The status of the next answer on a connection, {@code cut} where it ends without one. */
  static String status(Socket socket) throws IOException {
    InputStream in = socket.getInputStream();
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        return CUT;
      }
      line.write(c);
    }
    String[] words = line.toString(StandardCharsets.ISO_8859_1).split(" ", -1);
    return words.length > 1 ? words[1] : CUT;
  }

  /** Counts what came of something. */
  synchronized void count(String answer) {
    answers.merge(answer, 1, Integer::sum);
  }

  /** How often that came. */
  synchronized int counted(String answer) {
    return answers.getOrDefault(answer, 0);
  }

  /** What came, such as {@code 400 × 3, cut × 1}. */
  synchronized String summary() {
    return answers.entrySet().stream()
        .map(entry -> entry.getKey() + " × " + entry.getValue())
        .collect(Collectors.joining(", "));
  }

  @Override
  public void close() {
    for (Socket socket : sockets) {
      try {
        socket.close();
      } catch (IOException alreadyGone) {
        count("unclosed");
      }
    }
    sockets.clear();
  }
}
