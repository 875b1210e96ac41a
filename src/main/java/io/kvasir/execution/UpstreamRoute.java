package io.kvasir.execution;

import io.kvasir.routing.Worker;
import org.jspecify.annotations.Nullable;

/**
 * The way a request took, for the client's headers.
 *
 * @param worker who answered
 * @param prefill who read the prompt where that was another, null otherwise
 * @param reason why these, and what was done otherwise than planned
 */
public record UpstreamRoute(Worker worker, @Nullable Worker prefill, String reason) {}
