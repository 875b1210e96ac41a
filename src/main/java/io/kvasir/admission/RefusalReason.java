package io.kvasir.admission;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;

/** Why a request is not to wait, or not any longer. Its label is what crosses the cluster, and never changes. */
public enum RefusalReason {
  /** As many requests of its tenant wait as may. */
  TENANT_QUEUE_FULL,
  /** As many requests of its class wait as may. */
  QUEUE_FULL,
  /** Those that wait take as much memory as they may. */
  QUEUE_BYTES,
  /** It would wait longer than its class allows. */
  EXPECTED_WAIT,
  /** It has waited as long as its class allows. */
  TIMEOUT,
  /** As many requests wait for the first workers of models as may. */
  FIRST_WORKER,
  /** One that a home of a later version has, and this version has no name for. */
  OTHER;

  /** The reason of a label; {@link #OTHER} of one that is not known. */
  @JsonCreator
  static RefusalReason of(String label) {
    for (RefusalReason each : values()) {
      if (each.label().equals(label)) {
        return each;
      }
    }
    return OTHER;
  }

  /** Its name in metrics, and between nodes. */
  @JsonValue
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
