package io.kvasir.sim.api;

import java.util.concurrent.ThreadLocalRandom;

/** Names of calls, as vLLM makes them. */
final class CallIds {
  private CallIds() {}

  static String next() {
    return "chatcmpl-tool-%016x".formatted(ThreadLocalRandom.current().nextLong());
  }

  /** Of the item that a call is in the Responses API. */
  static String nextItem() {
    return "fc_%016x".formatted(ThreadLocalRandom.current().nextLong());
  }
}
