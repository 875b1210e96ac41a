package io.kvasir.events;

/** Whether a subscription's transport is connected, as metrics count it. One thread at a time. */
final class ConnectionState {
  private final EventMetrics.SourceMetrics metrics;
  private boolean connected;
  private boolean connectedBefore;

  ConnectionState(EventMetrics.SourceMetrics metrics) {
    this.metrics = metrics;
  }

  /** Whether it was connected once, now or before. */
  boolean connectedBefore() {
    return connectedBefore;
  }

  /** Notes that it is connected, or is not; returns whether that is a change. */
  boolean change(boolean up) {
    if (up == connected) {
      return false;
    }
    connected = up;
    metrics.connections(up ? 1 : -1);
    if (up) {
      if (connectedBefore) {
        metrics.reconnected();
      }
      connectedBefore = true;
    }
    return true;
  }
}
