package io.kvasir.http.server;

import org.jspecify.annotations.Nullable;

/**
 * The request that a connection's stream is at, as its two ends know it: one hands it in to Pekko, which hands it out
 * to the other. The stream's own.
 */
final class StreamedRequest {
  private boolean pending;
  private boolean coded;
  private @Nullable PartialBody partialBody;

  /** The stream's own as long as it is true: only then does the stream change it. */
  private boolean lacksBody;

  /** Notes that Pekko has handed it out. */
  void begun() {
    pending = true;
    coded = false;
  }

  /** Notes that its answer has been written to its end. */
  void answered() {
    pending = false;
  }

  /** Whether Pekko has handed out a request that has not been answered. */
  boolean isPending() {
    return pending;
  }

  /** Notes that the body of what Pekko has handed out is to be decoded. */
  void bodyIsCoded() {
    coded = true;
  }

  /** Whether what Pekko gets next is decoded by it: that takes long, however little it is. */
  boolean isDecoded() {
    return coded;
  }

  /** Notes the body of the request that Pekko gets next, null where Pekko gets that, too. */
  void bodyPastPekko(@Nullable PartialBody body) {
    partialBody = body;
    lacksBody |= body != null;
  }

  /** The body of the request that Pekko has handed out; null when that has it. */
  @Nullable PartialBody takePartialBody() {
    PartialBody taken = partialBody;
    partialBody = null;
    return taken;
  }

  /** Notes that all of a body that goes past Pekko has come. */
  void bodyCompleted(PartialBody body) {
    lacksBody = false;
    body.completed().run();
  }

  /** Whether a body that goes past Pekko has not come to its end. */
  boolean lacksBody() {
    return lacksBody;
  }
}
