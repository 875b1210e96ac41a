package io.kvasir.execution;

import io.kvasir.http.client.PodClient;
import java.util.concurrent.ScheduledExecutorService;

/**
 * What every request is carried out with.
 *
 * @param pods the way to the pods
 * @param settings the limits
 * @param metrics what operators see
 * @param timer for deadlines; what it runs does not block
 * @param warmup comes before a worker is asked to read a prompt
 */
public record ExecutionServices(
    PodClient pods,
    ExecutionSettings settings,
    ExecutionMetrics metrics,
    ScheduledExecutorService timer,
    Warmup warmup) {}
