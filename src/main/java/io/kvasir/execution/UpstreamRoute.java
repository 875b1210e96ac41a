package io.kvasir.execution;

import io.kvasir.routing.Worker;
import org.jspecify.annotations.Nullable;

/**
 * The workers a request went to, for the client's headers.
 *
 * @param worker the worker that responded
 * @param prefill the worker that computed the prompt where that was another, null otherwise
 * @param reason why these, and what was done otherwise than planned
 */
public record UpstreamRoute(Worker worker, @Nullable Worker prefill, String reason) {}
