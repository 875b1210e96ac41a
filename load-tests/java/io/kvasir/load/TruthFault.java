package io.kvasir.load;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpClient;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** What a kind of traffic does to its simulated engines, once. Used by one thread, but for {@link #isLongOver}. */
final class TruthFault {
  private static final int CRASH_MILLIS = 500;
  private static final int LOSS_MILLIS = 2000;

  private final TrafficKind kind;
  private final List<TruthEngine> engines;
  private final HttpClient http;
  private final TruthTally tally;
  private long began;
  private boolean begun;
  private volatile long ended;
  private volatile boolean over;

  /** A fault that has not begun; traffic of most kinds has none. */
  TruthFault(TrafficKind kind, List<TruthEngine> engines, HttpClient http, TruthTally tally) {
    this.kind = kind;
    this.engines = engines;
    this.http = http;
    this.tally = tally;
    this.over = !kind.hasFault();
    this.ended = System.nanoTime();
  }

  /** Begins it, or finds out whether it has ended. */
  void advance() {
    if (over) {
      return;
    }
    try {
      if (!begun) {
        begun = true;
        began = System.nanoTime();
        begin();
      } else if (System.nanoTime() - began >= TimeUnit.MILLISECONDS.toNanos(millis()) && areWell()) {
        ended = System.nanoTime();
        tally.disturbed(began, ended);
        over = true;
      }
    } catch (IOException e) {
      throw new UncheckedIOException("an engine cannot be disturbed", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Whether there is none, or it ended so long ago. */
  boolean isLongOver(long nanos) {
    return over && (!kind.hasFault() || System.nanoTime() - ended >= nanos);
  }

  private int millis() {
    return kind == TrafficKind.RESTARTING ? CRASH_MILLIS : LOSS_MILLIS;
  }

  private void begin() throws IOException, InterruptedException {
    if (kind == TrafficKind.RESTARTING) {
      engines.getLast().disturb(http, "/sim/crash", "{\"ms\":" + CRASH_MILLIS + "}");
      return;
    }
    for (TruthEngine engine : engines) {
      engine.disturb(http, "/sim/conditions", "{\"lossy\":true,\"ms\":" + LOSS_MILLIS + "}");
    }
  }

  private boolean areWell() throws InterruptedException {
    for (TruthEngine engine : engines) {
      if (!engine.isWell(http)) {
        return false;
      }
    }
    return true;
  }
}
