package io.kvasir.http;

import java.util.concurrent.Executor;

/** A thread that serves many connections, and runs what is brief of their requests. */
abstract class CarrierThread extends Thread implements Executor {
  CarrierThread(String name) {
    super(name);
  }

  /** Whether so much waits for it that others should rather run what comes next. Thread-safe. */
  abstract boolean isBusy();
}
