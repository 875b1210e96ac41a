package io.kvasir.execution.attempt;

import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.Warmup;
import io.kvasir.http.client.PodClient;
import io.kvasir.time.NanoClock;
import io.kvasir.time.Timer;

/**
 * What every attempt of a node shares.
 *
 * @param pods the HTTP client to the workers' pods
 * @param settings the limits
 * @param metrics the metrics of attempts and workflows
 * @param clock measures deadlines and latencies
 * @param timer runs the checks of deadlines
 * @param warmup runs before a worker is sent a prompt
 */
public record ExecutionServices(
    PodClient pods,
    ExecutionSettings settings,
    ExecutionMetrics metrics,
    NanoClock clock,
    Timer timer,
    Warmup warmup) {}
