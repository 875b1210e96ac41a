package io.kvasir.scale.keda;

import io.grpc.stub.ServerCallStreamObserver;
import io.kvasir.scale.keda.wire.IsActiveResponse;
import io.kvasir.scale.live.ScaleMonitor;
import io.kvasir.scale.live.ScaleReport;
import java.util.function.Predicate;

/**
 * The stream to one client that is told whether a target is active: the state as soon as workers are known, and each
 * change as soon as the client takes it; what changes back meanwhile is not sent. Ends when the client is gone.
 * Thread-safe.
 */
final class ActivityPush {
  private enum State { UNKNOWN, ACTIVE, IDLE }

  private final ServerCallStreamObserver<IsActiveResponse> client;
  private final Predicate<ScaleReport> active;
  // Guarded by this.
  private State state = State.UNKNOWN;
  private State sent = State.UNKNOWN;

  private ActivityPush(ServerCallStreamObserver<IsActiveResponse> client, Predicate<ScaleReport> active) {
    this.client = client;
    this.active = active;
  }

  /** Begins one; called by the thread of the call that it answers. */
  static void begin(
      ServerCallStreamObserver<IsActiveResponse> client, ScaleMonitor monitor, Predicate<ScaleReport> active) {
    ActivityPush push = new ActivityPush(client, active);
    Runnable end = monitor.listen(push::update);
    client.setOnCancelHandler(end);
    client.setOnReadyHandler(push::send);
    push.update(monitor.report());
  }

  /** A node that knows no workers does not know whether they have anything to do. */
  private void update(ScaleReport report) {
    if (report.targets().isEmpty()) {
      return;
    }
    synchronized (this) {
      state = active.test(report) ? State.ACTIVE : State.IDLE;
    }
    send();
  }

  private synchronized void send() {
    if (sent != state && client.isReady() && !client.isCancelled()) {
      sent = state;
      client.onNext(IsActiveResponse.newBuilder().setResult(state == State.ACTIVE).build());
    }
  }
}
