package io.kvasir.events;

/** Whether a subscription's transport is connected, as metrics count it. Thread-safe. */
final class ConnectionState {
  private final EventMetrics.SourceMetrics metrics;
  private boolean connected;
  private boolean connectedBefore;
  private boolean closed;

  ConnectionState(EventMetrics.SourceMetrics metrics) {
    this.metrics = metrics;
  }

  /** Whether it was connected once, now or before. */
  synchronized boolean connectedBefore() {
    return connectedBefore;
  }

  /** Notes that it is connected, or is not; returns whether that is a change. */
  synchronized boolean change(boolean up) {
    if (closed || up == connected) {
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

  /** The subscription has ended: it is not connected, whatever comes yet. Idempotent. */
  synchronized void close() {
    boolean _ = change(false);
    closed = true;
  }
}
