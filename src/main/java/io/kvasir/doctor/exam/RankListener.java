package io.kvasir.doctor.exam;

import java.time.Duration;

/** Listens to the events of one rank while the engine is examined. */
interface RankListener extends AutoCloseable {
  /** Waits until it would hear what comes; returns whether it does. */
  boolean awaitConnected(Duration timeout) throws InterruptedException;

  /** What came so far. */
  EventsSeen seen();

  @Override
  void close();
}
