/**
 * Carries a request out that may take several steps or a retry. {@link io.kvasir.execution.workflow.Dispatcher} is the
 * entry: the first try of a single-worker plan runs on the caller's thread, everything else in a {@code WorkflowActor}.
 */
@NullMarked
package io.kvasir.execution.workflow;

import org.jspecify.annotations.NullMarked;
