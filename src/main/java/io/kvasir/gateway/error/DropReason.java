package io.kvasir.gateway.error;

import io.kvasir.admission.AdmissionRefusal;
import org.jspecify.annotations.Nullable;

/** Why no worker got a request, by the words of llm-d's picker: its clients tell by them whether to come back. */
public enum DropReason {
  /** There are workers, and they are full, or enough requests wait for them. */
  SATURATED("rejected-saturated"),
  /** There is no worker that could get it. */
  NO_ENDPOINTS("rejected-no-endpoints"),
  /** It has waited as long as it may. */
  TTL_EXPIRED("rejected-ttl-expired"),
  /** The router stops. */
  SHUTTING_DOWN("rejected-shutting-down");

  /** The header that has it, beside {@link GateRefusal#HEADER}. */
  static final String HEADER = "x-llm-d-request-dropped-reason";

  private final String label;

  DropReason(String label) {
    this.label = label;
  }

  /** As the value of {@link #HEADER}. */
  String label() {
    return label;
  }

  /** Null where a caller has used up its own: by these words it would take the fleet for full. */
  static @Nullable DropReason of(AdmissionRefusal refusal) {
    if (refusal.callersOwn()) {
      return null;
    }
    return switch (refusal.reason()) {
      case TENANT_QUEUE_FULL, QUEUE_FULL, QUEUE_BYTES, EXPECTED_WAIT, OTHER -> SATURATED;
      case TIMEOUT -> TTL_EXPIRED;
      case FIRST_WORKER -> NO_ENDPOINTS;
    };
  }
}
