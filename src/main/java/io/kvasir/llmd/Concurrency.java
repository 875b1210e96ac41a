package io.kvasir.llmd;

/** The requests that a concurrency detector lets each endpoint have. */
final class Concurrency {
  private Concurrency() {}

  /** As many as the detector lets through, headroom included. */
  static long of(PluginEntry detector) {
    YamlSection parameters = detector.parameters();
    long most = parameters.whole("maxConcurrency", 100, 1, 100_000);
    return Math.max(1, (long) Math.floor(most * (1 + parameters.number("headroom", 0, 0, 9))));
  }
}
