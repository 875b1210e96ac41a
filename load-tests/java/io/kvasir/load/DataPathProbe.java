package io.kvasir.load;

import io.kvasir.load.LoadGenerator.ArrivalMode;
import io.kvasir.load.LoadGenerator.LoadResult;
import io.kvasir.load.LoadGenerator.Task;
import java.io.IOException;
import java.util.Locale;

/** The requests that every router is sent, in the same order and size. */
final class DataPathProbe {
  private static final int CHAT_BYTES = 2_000;
  private static final int LONG_BYTES = 242_000;
  private static final int STREAMS = 400;
  private static final int EVENTS = 50;

  /**
   * What one costs.
   *
   * @param requestsPerSecond with 64 clients that ask as fast as they can
   * @param cpuMicrosPerRequest with these clients
   * @param cpuMicrosPerPacedRequest with 64 clients at a rate far below saturation: for each one somebody is woken
   * @param p50AloneMillis latency of one client alone
   * @param p99PacedMillis latency with 64 clients at that rate
   * @param cpuMillisPerLongTurn for a turn of a conversation of 242 KB
   * @param streamMillis median time of a stream of 50 events at 20 ms
   */
  record Figures(
      String name,
      double requestsPerSecond,
      double cpuMicrosPerRequest,
      double cpuMicrosPerPacedRequest,
      double cpuMicrosPerEvent,
      double p50AloneMillis,
      double p50PacedMillis,
      double p99PacedMillis,
      double cpuMillisPerLongTurn,
      double streamMillis,
      double residentMegabytes) {
    /** The result of {@link #beside}; CPU times are in microseconds, and in milliseconds for the long turn. */
    static final String COLUMNS =
        "    req/s CPU us/req  at 500/s   us/event    +p50 ms    +p99 ms   ms/242KB  stream ms  RSS MB";

    /** A line of a table: latencies are what comes on top of direct access. */
    String beside(Figures direct) {
      return String.format(
          Locale.ROOT,
          "%9.0f %10.1f %9.1f %10.1f %10.3f %10.3f %10.2f %10.0f %7.0f",
          requestsPerSecond,
          cpuMicrosPerRequest,
          cpuMicrosPerPacedRequest,
          cpuMicrosPerEvent,
          p50AloneMillis - direct.p50AloneMillis,
          p99PacedMillis - direct.p99PacedMillis,
          cpuMillisPerLongTurn,
          streamMillis,
          residentMegabytes);
    }
  }

  /**
   * What a turn of a conversation of 242 KB costs, in CPU milliseconds.
   *
   * @param cold in the first seconds after the first answer
   * @param repeated when all but the last question has been there before
   * @param growing when each turn adds an answer and a question to the one before
   * @param cpuMicrosPerRequest for a chat of 2 KB, warm
   */
  record LongTurns(
      String name, double cold, double repeated, double growing, double p50Millis, double cpuMicrosPerRequest) {
    static final String COLUMNS = "     cold   repeated    growing     p50 ms  CPU us/2KB";

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT, "%9.2f %10.2f %10.2f %10.2f %11.1f", cold, repeated, growing, p50Millis, cpuMicrosPerRequest);
    }
  }

  /** The requests of a short measurement, with what is counted. */
  enum Burst {
    /** 64 clients that ask as fast as they can; requests are counted. */
    REQUESTS,
    /** 64 clients that ask 500 times a second; requests are counted. */
    AT_500,
    /** 400 streams; events are counted. */
    EVENTS;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
  }

  private static final double BURST_SECONDS = 2;

  private final LoadGenerator.Remote load;
  private final String model;
  private final double scale;

  /**
   * A probe.
   *
   * @param scale of all durations, 1 for figures to be shown
   */
  DataPathProbe(LoadGenerator.Remote load, String model, double scale) {
    this.load = load;
    this.model = model;
    this.scale = scale;
  }

  /** Warms a router up, then measures it. {@code child} is null for direct access, which costs nothing. */
  Figures measure(String name, int port, CpuClock cpu) throws IOException {
    warmUp(name, port);
    progress(name, "one client");
    LoadResult alone = run(port, ArrivalMode.CLOSED, 1, 0, 4, 0, CHAT_BYTES);
    progress(name, "64 clients, 500 requests a second");
    double before = cpu.seconds();
    LoadResult paced = run(port, ArrivalMode.PACED, 64, 500, 5, 0, CHAT_BYTES);
    double perPaced = 1e6 * (cpu.seconds() - before) / paced.requests();
    progress(name, "64 clients");
    before = cpu.seconds();
    LoadResult chat = run(port, ArrivalMode.CLOSED, 64, 0, 6, 0, CHAT_BYTES);
    double perRequest = 1e6 * (cpu.seconds() - before) / chat.requests();
    progress(name, "400 streams");
    before = cpu.seconds();
    LoadResult streams = run(port, ArrivalMode.CLOSED, STREAMS, 0, 6, EVENTS, CHAT_BYTES);
    double perEvent = 1e6 * (cpu.seconds() - before) / streams.events();
    progress(name, "long turns");
    before = cpu.seconds();
    LoadResult turns = run(port, ArrivalMode.CLOSED, 2, 0, 4, 0, LONG_BYTES);
    double perTurn = 1e3 * (cpu.seconds() - before) / turns.requests();
    return new Figures(
        name,
        chat.requests() / chat.seconds(),
        perRequest,
        perPaced,
        perEvent,
        alone.p50Millis(),
        paced.p50Millis(),
        paced.p99Millis(),
        perTurn,
        streams.p50Millis(),
        cpu.residentMegabytes());
  }

  /** As long as it takes until little is compiled any more. */
  void warmUp(String name, int port) throws IOException {
    progress(name, "warming up");
    run(port, ArrivalMode.CLOSED, 64, 0, 9, 0, CHAT_BYTES);
    run(port, ArrivalMode.CLOSED, STREAMS, 0, 6, EVENTS, CHAT_BYTES);
    run(port, ArrivalMode.CLOSED, 2, 0, 4, 0, LONG_BYTES);
    run(port, ArrivalMode.CLOSED, 64, 0, 3, 0, CHAT_BYTES);
  }

  /** CPU microseconds of each request or event of a burst. */
  double burst(Burst burst, int port, CpuClock cpu) throws IOException {
    double before = cpu.seconds();
    long counted =
        switch (burst) {
          case REQUESTS -> run(port, ArrivalMode.CLOSED, 64, 0, BURST_SECONDS, 0, CHAT_BYTES).requests();
          case AT_500 -> run(port, ArrivalMode.PACED, 64, 500, BURST_SECONDS, 0, CHAT_BYTES).requests();
          case EVENTS -> run(port, ArrivalMode.CLOSED, STREAMS, 0, BURST_SECONDS, EVENTS, CHAT_BYTES).events();
        };
    return 1e6 * (cpu.seconds() - before) / counted;
  }

  /** Measures long turns only, from the first on. */
  LongTurns measureLongTurns(String name, int port, CpuClock cpu) throws IOException {
    progress(name, "long turns, cold");
    double cold = millisPerTurn(cpu, () -> run(port, ArrivalMode.CLOSED, 2, 0, 3, 0, LONG_BYTES));
    progress(name, "long turns, warming up");
    run(port, ArrivalMode.CLOSED, 2, 0, 6, 0, LONG_BYTES);
    progress(name, "long turns, repeated");
    double p50 = run(port, ArrivalMode.CLOSED, 1, 0, 1, 0, LONG_BYTES).p50Millis();
    double repeated = millisPerTurn(cpu, () -> run(port, ArrivalMode.CLOSED, 2, 0, 4, 0, LONG_BYTES));
    progress(name, "long turns, growing");
    double growing = millisPerTurn(cpu, () -> grow(port, 4));
    progress(name, "64 clients");
    run(port, ArrivalMode.CLOSED, 64, 0, 4, 0, CHAT_BYTES);
    double chat = millisPerTurn(cpu, () -> run(port, ArrivalMode.CLOSED, 64, 0, 3, 0, CHAT_BYTES));
    return new LongTurns(name, cold, repeated, growing, p50, 1e3 * chat);
  }

  private interface Phase {
    LoadResult run() throws IOException;
  }

  private static double millisPerTurn(CpuClock cpu, Phase phase) throws IOException {
    double before = cpu.seconds();
    long requests = phase.run().requests();
    return 1e3 * (cpu.seconds() - before) / requests;
  }

  /** Whose CPU and memory are counted. */
  interface CpuClock {
    /** No router: direct access. */
    CpuClock NONE =
        new CpuClock() {
          @Override
          public double seconds() {
            return 0;
          }

          @Override
          public double residentMegabytes() {
            return 0;
          }
        };

    double seconds();

    double residentMegabytes();

    static CpuClock of(ChildProcess child) {
      return new CpuClock() {
        @Override
        public double seconds() {
          return child.cpuSeconds();
        }

        @Override
        public double residentMegabytes() {
          return child.residentMegabytes();
        }
      };
    }
  }

  private LoadResult run(int port, ArrivalMode arrival, int connections, int rate, double seconds, int events,
      int bytes)
      throws IOException {
    return run(new Task(port, model, arrival, connections, rate, seconds * scale, events, bytes, false));
  }

  private LoadResult grow(int port, double seconds) throws IOException {
    return run(new Task(port, model, ArrivalMode.CLOSED, 2, 0, seconds * scale, 0, LONG_BYTES, true));
  }

  private LoadResult run(Task task) throws IOException {
    LoadResult tally = load.run(task);
    if (tally.errors() > 0 || tally.requests() == 0) {
      throw new IOException(
          "%d of %d requests failed, the first with: %s"
              .formatted(tally.errors(), tally.errors() + tally.requests(), tally.firstError()));
    }
    return tally;
  }

  static void progress(String name, String what) {
    System.err.printf(Locale.ROOT, "%-28s %s%n", name, what);
  }
}
