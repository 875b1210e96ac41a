package io.kvasir.execution;

import io.kvasir.cell.Outcome;
import io.kvasir.cell.PrefixHold;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;

/** Metrics of requests at workers, and of workflows. Thread-safe. */
public final class ExecutionMetrics {
  private final Counter retries;
  private final Counter retriesRefused;
  private final Counter quarantined;
  private final Counter quarantineRefused;
  private final Counter attempts;
  private final Histogram prefixHolds;
  private final Gauge inFlight;
  private final Counter stepRequests;
  private final Counter splitsSkipped;
  private final Counter stepsSkipped;
  private final Counter hedges;
  private final Counter resumes;
  private final Counter resumesRefused;
  private final Gauge workflows;
  private final Gauge webSockets;
  private final Counter webSocketsClosed;
  private final Counter webSocketBytes;

  /** Registers the metrics. */
  public ExecutionMetrics(Metrics metrics) {
    PrometheusRegistry registry = metrics.registry();
    retries = Counter.builder()
        .name("kvasir_retries_total")
        .help("Requests sent to a further worker, by the reason why the one before did not answer")
        .labelNames("why")
        .register(registry);
    retriesRefused = Counter.builder()
        .name("kvasir_retries_refused_total")
        .help("Retries not made, by the limit that forbade them: the retry budget, the number of workflows, or that of"
            + " workers whose connections ended under the request (disconnects)")
        .labelNames("by")
        .register(registry);
    quarantined = Counter.builder()
        .name("kvasir_quarantined_requests_total")
        .help("Requests under which the connections of several workers ended, so that they are refused for a while")
        .register(registry);
    quarantineRefused = Counter.builder()
        .name("kvasir_quarantine_refused_total")
        .help("Requests refused because the same request is in quarantine")
        .register(registry);
    attempts = Counter.builder()
        .name("kvasir_attempts_total")
        .help("Requests sent to a worker, by outcome")
        .labelNames("outcome")
        .register(registry);
    prefixHolds = Histogram.builder()
        .name("kvasir_prefix_hold_seconds")
        .help("How long requests were held before they were sent, as they count on blocks which another request is to"
            + " compute at an engine that shares blocks only once it has computed them, or that are to be sent first,"
            + " by what came of it: computed (or sent), overdue (that should have been long ago),"
            + " unknown (the cell's home has moved or does not answer), cancelled.")
        .labelNames("result")
        .classicOnly()
        .classicUpperBounds(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
        .register(registry);
    inFlight = Gauge.builder()
        .name("kvasir_attempts_in_flight")
        .help("Requests at workers now")
        .register(registry);
    stepRequests = Counter.builder()
        .name("kvasir_legs_total")
        .help("Steps of plans of several steps, by the dialect of their prefill, the step and its outcome")
        .labelNames("dialect", "step", "outcome")
        .register(registry);
    splitsSkipped = Counter.builder()
        .name("kvasir_splits_skipped_total")
        .help("Requests planned for several workers that one had to serve, by reason")
        .labelNames("why")
        .register(registry);
    stepsSkipped = Counter.builder()
        .name("kvasir_steps_skipped_total")
        .help("Steps that failed and were skipped, such as a prefill left to the decode worker, by step and reason")
        .labelNames("step", "why")
        .register(registry);
    hedges = Counter.builder()
        .name("kvasir_hedges_total")
        .help("Requests that were hedged with a second worker, by whether that was the faster one")
        .labelNames("won")
        .register(registry);
    resumes = Counter.builder()
        .name("kvasir_resumes_total")
        .help("Streams cut by their worker that another one continued (resumed), that had no tokens left to generate "
            + "(finished) or that no worker continued (failed), in profiles that enable it")
        .labelNames("result")
        .register(registry);
    resumesRefused = Counter.builder()
        .name("kvasir_resumes_refused_total")
        .help("Streams cut by their worker that were not continued, in profiles that enable it, by reason")
        .labelNames("why")
        .register(registry);
    workflows = Gauge.builder()
        .name("kvasir_workflows")
        .help("Requests in flight that take several steps or a retry")
        .register(registry);
    webSockets = Gauge.builder()
        .name("kvasir_websockets")
        .help("WebSockets between clients and workers that are open now")
        .register(registry);
    webSocketsClosed = Counter.builder()
        .name("kvasir_websockets_closed_total")
        .help("WebSockets that have ended, by who ended them: client or worker (with a close frame), client_lost or"
            + " worker_lost (without one), idle, or stopping (the node)")
        .labelNames("by")
        .register(registry);
    webSocketBytes = Counter.builder()
        .name("kvasir_websocket_bytes_total")
        .help("Bytes that passed on WebSockets, by direction: up to the worker or down to the client")
        .labelNames("direction")
        .register(registry);
  }

  public void attemptStarted() {
    inFlight.inc();
  }

  /** A request was held for its prefix. */
  public void held(PrefixHold hold, long nanos) {
    prefixHolds.labelValues(hold.label()).observe(nanos * 1e-9);
  }

  /** An attempt has ended; counted by its outcome. */
  public void attemptEnded(Outcome outcome) {
    inFlight.dec();
    attempts.labelValues(switch (outcome) {
      case Outcome.Completed _ -> "completed";
      case Outcome.Cancelled _ -> "cancelled";
      case Outcome.Preempted _ -> "preempted";
      case Outcome.Refused _ -> "refused";
      case Outcome.Failed _, Outcome.UnknownModel _ -> "failed";
    }).inc();
  }

  public void retried(String why) {
    retries.labelValues(why).inc();
  }

  public void retryRefused(String by) {
    retriesRefused.labelValues(by).inc();
  }

  public void quarantined() {
    quarantined.inc();
  }

  public void quarantineRefused() {
    quarantineRefused.inc();
  }

  /** A step of a plan of several is over. */
  public void stepRequestEnded(String dialect, String step, String outcome) {
    stepRequests.labelValues(dialect, step, outcome).inc();
  }

  public void splitSkipped(String why) {
    splitsSkipped.labelValues(why).inc();
  }

  public void stepSkipped(String step, String why) {
    stepsSkipped.labelValues(step, why).inc();
  }

  public void hedged(boolean won) {
    hedges.labelValues(Boolean.toString(won)).inc();
  }

  public void resumed(String result) {
    resumes.labelValues(result).inc();
  }

  public void resumeRefused(String why) {
    resumesRefused.labelValues(why).inc();
  }

  public void workflowStarted() {
    workflows.inc();
  }

  public void workflowEnded() {
    workflows.dec();
  }

  public void webSocketOpened() {
    webSockets.inc();
  }

  /** A WebSocket has ended; counted by who ended it. */
  public void webSocketClosed(String by) {
    webSockets.dec();
    webSocketsClosed.labelValues(by).inc();
  }

  public void webSocketBytes(String direction, int count) {
    webSocketBytes.labelValues(direction).inc(count);
  }
}
