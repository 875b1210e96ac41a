package io.kvasir.gateway.error;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.admission.AdmissionRefusal;
import io.kvasir.cell.CellLoad;
import io.kvasir.cell.Decision;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.ReachedLimit;
import io.kvasir.prompt.PreparationLimiter;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The refusal of a request for want of something that others use or that its caller has used up: the gate that refused
 * it, the setting that moves that gate, and what was measured there.
 *
 * @param knob the setting's path in the configuration, below {@code kvasir}
 * @param measure null where there is no figure
 * @param drop null where it is not for want of workers, or of a router
 */
public record GateRefusal(Gate gate, String knob, @Nullable Measure measure, @Nullable DropReason drop) {
  /** The header that has it, beside the error's body. */
  static final String HEADER = "X-Router-Refusal";

  private static final String MEMORY_SHARE = "gateway.memory-share";

  /** That of a request which comes while the node stops. */
  private static final GateRefusal STOPPING =
      of(Gate.STOPPING, "gateway.drain-delay").dropping(DropReason.SHUTTING_DOWN);

  /** The place where a request was refused. */
  public enum Gate {
    /** A limit of its caller. */
    LIMITS,
    /** The number of clients' connections. */
    CONNECTIONS,
    /** The time in which a request has to arrive. */
    ARRIVAL,
    /** The length of a body. */
    BODY,
    /** The memory for requests. */
    MEMORY,
    /** The wait of large requests for a processor. */
    PREPARATION,
    /** The wait for a worker that has room. */
    ADMISSION,
    /** The choice of a worker. */
    WORKERS,
    /** The way to the cell's home, which has moved or is silent. */
    CELL,
    /** The cluster, from which the node is cut off. */
    CLUSTER,
    /** The node's end. */
    STOPPING,
    /** The quarantine of requests under which workers have ended. */
    QUARANTINE;

    /** Its name in errors and metrics. */
    public String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * What was measured.
   *
   * @param limit the most that is let through; of workers, the least
   * @param unit of both
   */
  public record Measure(long measured, long limit, String unit) {}

  public static GateRefusal of(Gate gate, String knob) {
    return of(gate, knob, null);
  }

  public static GateRefusal of(Gate gate, String knob, @Nullable Measure measure) {
    return new GateRefusal(gate, knob, measure, null);
  }

  /** The same of a request that no worker gets. */
  public GateRefusal dropping(DropReason reason) {
    return new GateRefusal(gate, knob, measure, reason);
  }

  /** The refusal of a request that no worker could be chosen for; null where no gate did. */
  public static @Nullable GateRefusal of(Decision.NoWorker none) {
    CellLoad load = none.load();
    return switch (none.reason()) {
      case UNKNOWN_MODEL, NOT_CACHED -> null;
      case NO_HOME -> of(Gate.CELL, "cell.move-timeout");
      case CUT_OFF -> of(Gate.CLUSTER, "cluster.minority");
      case STOPPING -> STOPPING;
      case NOT_ADMITTED -> of(none.refusal());
      case ALL_FULL ->
          of(Gate.WORKERS, "pod-defaults.max-in-flight",
              load == null ? null : new Measure(load.inFlight(), load.maxInFlight(), "requests"))
              .dropping(DropReason.SATURATED);
      case NONE_HEALTHY -> noneHealthy(load).dropping(DropReason.NO_ENDPOINTS);
    };
  }

  /** Workers that may get requests, but not this one: they have failed it, or its profile leaves them out. */
  private static GateRefusal noneHealthy(@Nullable CellLoad load) {
    return load != null && load.routable() > 0
        ? of(Gate.WORKERS, "routing.profiles")
        : of(Gate.WORKERS, "cell.health", load == null ? null : new Measure(load.routable(), 1, "workers"));
  }

  private static @Nullable GateRefusal of(@Nullable AdmissionRefusal refusal) {
    return refusal == null
        ? null
        : new GateRefusal(
            Gate.ADMISSION, refusal.knob(), new Measure(refusal.measured(), refusal.limit(), refusal.unit()),
            DropReason.of(refusal));
  }

  /** The refusal of a request that has not reached an API, for a limit of the listener's. */
  public static GateRefusal of(ReachedLimit reached) {
    return switch (reached.kind()) {
      case CONNECTIONS -> of(Gate.CONNECTIONS, "gateway.max-connections", reached, "connections");
      case CONNECTIONS_PER_ADDRESS ->
          of(Gate.CONNECTIONS, "gateway.max-connections-per-address", reached, "connections");
      case MEMORY -> of(Gate.MEMORY, MEMORY_SHARE, reached, "bytes");
      case BODY_LENGTH -> of(Gate.BODY, "gateway.max-body", reached, "bytes");
      case HEAD_TIME -> of(Gate.ARRIVAL, "gateway.head-timeout", reached, "ms");
      case BODY_TIME -> of(Gate.ARRIVAL, "gateway.body-timeout", reached, "ms");
      case STALL_TIME -> of(Gate.ARRIVAL, "gateway.stall-timeout", reached, "ms");
      case STOPPING -> STOPPING;
    };
  }

  private static GateRefusal of(Gate gate, String knob, ReachedLimit reached, String unit) {
    return of(gate, knob, new Measure(reached.measured(), reached.most(), unit));
  }

  /** The refusal of a request whose body there is no memory to read. */
  public static GateRefusal of(RequestMemory.Shortage shortage) {
    return of(Gate.MEMORY, MEMORY_SHARE, new Measure(shortage.needed(), shortage.limit(), "bytes"));
  }

  /** The refusal of a request for which no processor was free in time. */
  public static GateRefusal of(PreparationLimiter.OverloadException late) {
    return of(
        Gate.PREPARATION, "prompt.preparation-wait", new Measure(late.waitedMillis(), late.limitMillis(), "ms"));
  }

  /** The same of a request that came to the endpoint picker, whose bodies have limits of their own. */
  public GateRefusal atPicker() {
    return gate == Gate.MEMORY || gate == Gate.BODY
        ? new GateRefusal(gate, knob.replaceFirst("^gateway", "picker"), measure, drop)
        : this;
  }

  /** As a part of an error's body. */
  ObjectNode json(boolean retryable) {
    ObjectNode json = JsonNodeFactory.instance.objectNode().put("gate", gate.label()).put("knob", knob);
    if (measure != null) {
      json.put("measured", measure.measured).put("limit", measure.limit).put("unit", measure.unit);
    }
    return json.put("retryable", retryable);
  }

  /** As the value of {@link #HEADER}. */
  String header(boolean retryable) {
    String figures =
        measure == null ? ""
            : "measured=%d; limit=%d; unit=%s; ".formatted(measure.measured, measure.limit, measure.unit);
    return "gate=%s; knob=%s; %sretryable=%s".formatted(gate.label(), knob, figures, retryable);
  }
}
