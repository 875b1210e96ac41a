package io.kvasir.scale.keda;

import io.grpc.stub.ServerCallStreamObserver;
import io.kvasir.scale.ScaleAdvice.Activity;
import io.kvasir.scale.ScaleTarget;
import io.kvasir.scale.keda.wire.IsActiveResponse;
import io.kvasir.scale.live.ScaleMonitor;
import io.kvasir.scale.live.ScaleReport;

/**
 * The stream to one client that is told whether a target is active: the state as soon as it is known, and each change
 * as soon as the client takes it; what changes back meanwhile is not sent. Ends when the client is gone. Thread-safe.
 */
final class ActivityPush {
  private final ServerCallStreamObserver<IsActiveResponse> client;
  private final ScaleTarget target;
  // Guarded by this.
  private Activity state = Activity.UNKNOWN;
  private Activity sent = Activity.UNKNOWN;

  private ActivityPush(ServerCallStreamObserver<IsActiveResponse> client, ScaleTarget target) {
    this.client = client;
    this.target = target;
  }

  /** Begins one; called by the thread of the call that it answers. */
  static void begin(
      ServerCallStreamObserver<IsActiveResponse> client, ScaleMonitor monitor, ScaleTarget target) {
    ActivityPush push = new ActivityPush(client, target);
    Runnable end = monitor.listen(push::update);
    client.setOnCancelHandler(end);
    client.setOnReadyHandler(push::send);
    push.update(monitor.report());
  }

  /** What is not known any more stays as it was. */
  private void update(ScaleReport report) {
    Activity now = report.activity(target);
    if (now == Activity.UNKNOWN) {
      return;
    }
    synchronized (this) {
      state = now;
    }
    send();
  }

  private synchronized void send() {
    if (sent != state && client.isReady() && !client.isCancelled()) {
      sent = state;
      client.onNext(IsActiveResponse.newBuilder().setResult(state == Activity.ACTIVE).build());
    }
  }
}
