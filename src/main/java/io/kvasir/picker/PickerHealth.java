package io.kvasir.picker;

import io.grpc.BindableService;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.protobuf.services.HealthStatusManager;
import java.util.List;

/** The picker's health by gRPC, under every name by which gateways and probes ask for it. Thread-safe. */
final class PickerHealth {
  private static final String LIVENESS = "liveness";

  /** The whole server, what Kubernetes' probes ask for, the protocol's own service, and the name in charts. */
  private static final List<String> SERVING =
      List.of(
          HealthStatusManager.SERVICE_NAME_ALL_SERVICES, "readiness", ProcessMethod.SERVICE, "inference-extension");

  private final HealthStatusManager manager = new HealthStatusManager();

  PickerHealth() {
    manager.setStatus(LIVENESS, ServingStatus.SERVING);
    serving(false);
  }

  /** The service, which may be served on several ports. */
  BindableService service() {
    return manager.getHealthService();
  }

  /** Says whether new streams are welcome. */
  void serving(boolean welcome) {
    ServingStatus status = welcome ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
    SERVING.forEach(name -> manager.setStatus(name, status));
  }
}
