package io.kvasir.scale.keda;

import io.grpc.stub.ServerCallStreamObserver;
import io.kvasir.scale.keda.wire.IsActiveResponse;
import io.kvasir.scale.live.ScaleMonitor;
import io.kvasir.scale.live.ScaleReport;
import java.util.function.Predicate;

/**
 * The stream to one client that is told whether a target is active: the state at first, and each change as soon as the
 * client takes it; what changes back meanwhile is not sent. Ends when the client is gone. Thread-safe.
 */
final class ActivityPush {
  private enum Sent { NOTHING, ACTIVE, IDLE }

  private final ServerCallStreamObserver<IsActiveResponse> client;
  private Sent sent = Sent.NOTHING;
  private boolean active;

  private ActivityPush(ServerCallStreamObserver<IsActiveResponse> client) {
    this.client = client;
  }

  /** Begins one; called by the thread of the call that it answers. */
  static void begin(
      ServerCallStreamObserver<IsActiveResponse> client, ScaleMonitor monitor, Predicate<ScaleReport> active) {
    ActivityPush push = new ActivityPush(client);
    Runnable end = monitor.listen(report -> push.update(active.test(report)));
    client.setOnCancelHandler(end);
    client.setOnReadyHandler(push::send);
    push.update(active.test(monitor.report()));
  }

  private void update(boolean now) {
    synchronized (this) {
      active = now;
    }
    send();
  }

  private synchronized void send() {
    Sent due = active ? Sent.ACTIVE : Sent.IDLE;
    if (sent != due && client.isReady() && !client.isCancelled()) {
      sent = due;
      client.onNext(IsActiveResponse.newBuilder().setResult(active).build());
    }
  }
}
