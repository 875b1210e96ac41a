package io.kvasir.load;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.http.Headers;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodRequest;
import io.kvasir.http.client.PodResponse;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Clients that send requests as fast as their task sets. Reads one {@link Task} per line as JSON and answers each with
 * one line, a {@link LoadResult}; so one warm process serves a whole comparison.
 */
final class LoadGenerator {
  /** How clients come. */
  enum ArrivalMode {
    /** Each connection sends its next request as soon as it was answered. */
    CLOSED,
    /** A fixed number of requests a second, timed from when each was due. */
    PACED
  }

  /**
   * What to do.
   *
   * @param port of the router, or of an engine, on loopback
   * @param connections clients at the same time
   * @param rate requests per second, when paced
   * @param events events of each answer, 0 for one whole JSON answer
   * @param bodyBytes about how long each request's body is
   * @param grows whether each turn adds an answer and a question to its conversation, up to {@code bodyBytes};
   *     otherwise only the last question changes
   * @param others ports of further routers: of twenty requests each of them gets one, the first router the rest
   */
  record Task(
      int port, String model, ArrivalMode arrival, int connections, int rate, double seconds, int events,
      int bodyBytes, boolean grows, List<Integer> others) {
    Task(
        int port, String model, ArrivalMode arrival, int connections, int rate, double seconds, int events,
        int bodyBytes, boolean grows) {
      this(port, model, arrival, connections, rate, seconds, events, bodyBytes, grows, List.of());
    }

    private int port(int number) {
      int turn = Math.floorMod(number, 20);
      return turn < others.size() ? others.get(turn) : port;
    }
  }

  /**
   * What came of it.
   *
   * @param events events that arrived
   * @param firstError in words, null when there was none
   */
  record LoadResult(
      long requests, long errors, long events, double seconds, double p50Millis, double p99Millis,
      @Nullable String firstError) {}

  private static final ObjectMapper JSON = new ObjectMapper();

  /** Sessions whose conversations a long load goes through, turn by turn. */
  private static final int SESSIONS = 8;

  private final PodClient client =
      new PodClient(
          PodClient.Settings.defaults().withTimeouts(
              Duration.ofSeconds(5), Duration.ofSeconds(30), Duration.ofSeconds(30)),
          new Metrics(new PrometheusRegistry()),
          NanoClock.SYSTEM);

  public static void main(String[] arguments) throws Exception {
    LoadGenerator generator = new LoadGenerator();
    BufferedReader tasks = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    for (String line = tasks.readLine(); line != null; line = tasks.readLine()) {
      System.out.println("tally " + JSON.writeValueAsString(generator.run(JSON.readValue(line, Task.class))));
    }
    System.exit(0);
  }

  private final class Run {
    private final Task task;
    private final Bodies bodies;
    private final Histogram latencies = new ConcurrentHistogram(60_000_000_000L, 3);
    private final LongAdder errors = new LongAdder();
    private final LongAdder events = new LongAdder();
    private volatile @Nullable String firstError;

    Run(Task task) {
      this.task = task;
      this.bodies = new Bodies(task);
    }

    void send(int number, long due, byte[] buffer) {
      PodRequest request =
          new PodRequest(
              URI.create("http://127.0.0.1:" + task.port(number)),
              "POST",
              "/v1/chat/completions",
              Headers.of(
                  "User-Agent", "load/1", "Accept", "*/*", "Content-Type", "application/json",
                  "X-Session-ID", "session-" + number % SESSIONS),
              bodies.body(number));
      try (PodResponse response = client.call(request).send()) {
        int last = 0;
        int seen = 0;
        for (int n = response.read(buffer, 0, buffer.length); n >= 0; n = response.read(buffer, 0, buffer.length)) {
          for (int i = 0; i < n; i++) {
            if (buffer[i] == '\n' && last == '\n') {
              seen++;
            }
            last = buffer[i];
          }
        }
        // The last is [DONE]; usage that nobody requested may have been taken out.
        if (response.status() != 200 || (task.events() > 0 && seen < task.events() + 1)) {
          failed("status " + response.status() + ", " + seen + " events");
          return;
        }
        events.add(seen);
        latencies.recordValue(Math.max(1, System.nanoTime() - due));
      } catch (PodException e) {
        failed(String.valueOf(e.getMessage()));
      }
    }

    private void failed(String why) {
      errors.increment();
      if (firstError == null) {
        firstError = why;
      }
    }

    LoadResult result(double seconds) {
      return new LoadResult(
          latencies.getTotalCount(),
          errors.sum(),
          events.sum(),
          seconds,
          latencies.getValueAtPercentile(50) / 1e6,
          latencies.getValueAtPercentile(99) / 1e6,
          firstError);
    }
  }

  private LoadResult run(Task task) throws InterruptedException {
    Run run = new Run(task);
    long begin = System.nanoTime();
    long end = begin + (long) (task.seconds() * 1e9);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < task.connections(); i++) {
      int connection = i;
      threads.add(
          Thread.startVirtualThread(
              () -> {
                byte[] buffer = new byte[16 << 10];
                switch (task.arrival()) {
                  case CLOSED -> closed(run, connection, end, buffer);
                  case PACED -> paced(run, connection, begin, end, buffer);
                }
              }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    return run.result((System.nanoTime() - begin) / 1e9);
  }

  private static void closed(Run run, int connection, long end, byte[] buffer) {
    int number = connection;
    for (long now = System.nanoTime(); now - end < 0; now = System.nanoTime()) {
      run.send(number, now, buffer);
      number += run.task.connections();
    }
  }

  private static void paced(Run run, int connection, long begin, long end, byte[] buffer) {
    long interval = (long) (1e9 * run.task.connections() / run.task.rate());
    long due = begin + interval * connection / run.task.connections();
    int number = connection;
    try {
      while (due - end < 0) {
        long wait = due - System.nanoTime();
        if (wait > 0) {
          Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
        }
        // Late because the last answer was: the router's. Late in waking: our own.
        run.send(number, wait > 0 ? System.nanoTime() : due, buffer);
        due += interval;
        number += run.task.connections();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Request bodies: a common beginning, a session's history, and a turn that is new each time. */
  private static final class Bodies {
    private static final int TURN = 600;

    /** Turns of a conversation that grows, after which another one takes its place. */
    private static final int TURNS = 64;

    private static final byte[] AFTER_QUESTION = "\"},{\"role\":\"assistant\",\"content\":\"".getBytes(UTF_8);
    private static final byte[] AFTER_ANSWER = "\"},{\"role\":\"user\",\"content\":\"".getBytes(UTF_8);

    private final byte[] before;
    private final byte[][] histories = new byte[SESSIONS][];
    private final byte[] after = "\"}]}".getBytes(UTF_8);
    private final boolean grows;

    Bodies(Task task) {
      grows = task.grows();
      before =
          "{\"model\":\"%s\",\"stream\":%b,\"max_tokens\":%d,\"temperature\":0.7,\"messages\":["
              .formatted(task.model(), task.events() > 0, Math.max(task.events(), 1))
              .getBytes(UTF_8);
      int bytes = task.bodyBytes() - (grows ? (TURNS - 1) * 2 * TURN : 0);
      for (int session = 0; session < SESSIONS; session++) {
        StringBuilder history = new StringBuilder();
        history.append("{\"role\":\"system\",\"content\":\"");
        words(history, 0, Math.min(500, bytes / 3));
        history.append("\"}");
        String role = "user";
        long seed = session + 1L;
        while (history.length() < bytes - TURN - before.length - 60) {
          history.append(",{\"role\":\"").append(role).append("\",\"content\":\"");
          words(history, seed, Math.min(2000, bytes - TURN - before.length - history.length()));
          history.append("\"}");
          role = role.equals("user") ? "assistant" : "user";
          seed += SESSIONS;
        }
        history.append(",{\"role\":\"user\",\"content\":\"");
        histories[session] = history.toString().getBytes(UTF_8);
      }
    }

    byte[] body(int number) {
      return grows ? grown(number % SESSIONS, number / SESSIONS) : withNewTurn(number);
    }

    /** The body of a session's {@code turn}: its conversation, begun anew every {@value #TURNS} turns. */
    private byte[] grown(int session, int turn) {
      ByteArrayOutputStream body = new ByteArrayOutputStream(before.length + histories[session].length + TURN);
      body.writeBytes(before);
      body.writeBytes(histories[session]);
      // The first words tell one conversation from the next; the history before them is theirs in common.
      long conversation = -1L - session - (long) SESSIONS * (turn / TURNS);
      int messages = 1 + 2 * (turn % TURNS);
      StringBuilder text = new StringBuilder(TURN);
      for (int i = 0; i < messages; i++) {
        if (i > 0) {
          body.writeBytes(i % 2 == 1 ? AFTER_QUESTION : AFTER_ANSWER);
        }
        text.setLength(0);
        words(text, conversation * TURNS * 2 - i, TURN);
        body.writeBytes(text.toString().getBytes(UTF_8));
      }
      body.writeBytes(after);
      return body.toByteArray();
    }

    private byte[] withNewTurn(int number) {
      byte[] history = histories[number % SESSIONS];
      StringBuilder turn = new StringBuilder(TURN);
      words(turn, -1L - number, TURN);
      byte[] body = new byte[before.length + history.length + turn.length() + after.length];
      System.arraycopy(before, 0, body, 0, before.length);
      System.arraycopy(history, 0, body, before.length, history.length);
      int at = before.length + history.length;
      System.arraycopy(turn.toString().getBytes(UTF_8), 0, body, at, turn.length());
      System.arraycopy(after, 0, body, at + turn.length(), after.length);
      return body;
    }

    private static void words(StringBuilder to, long seed, int bytes) {
      String[] words = {
        "raven", "memory", "block", "prefix", "north", "engine", "the", "of", "a", "cache", "where", "token", "warm"
      };
      long state = seed * 0x9E3779B97F4A7C15L + 0x1234567L;
      int end = to.length() + bytes;
      while (to.length() < end) {
        state = state * 6364136223846793005L + 1442695040888963407L;
        to.append(words[(int) ((state >>> 33) % words.length)]).append(' ');
      }
    }
  }

  /** The other side: sends tasks to a generator in its own process. */
  static final class Remote implements AutoCloseable {
    private final ChildProcess child;

    Remote(Path log) throws IOException {
      child = ChildProcess.java("load generator", log, List.of("-Xmx512m"), LoadGenerator.class);
    }

    LoadResult run(Task task) throws IOException {
      child.writeLine(JSON.writeValueAsString(task));
      return JSON.readValue(child.awaitLine("tally "), LoadResult.class);
    }

    @Override
    public void close() {
      child.close();
    }
  }
}
