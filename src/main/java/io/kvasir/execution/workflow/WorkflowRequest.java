package io.kvasir.execution.workflow;

import io.kvasir.execution.attempt.CallContext;
import io.kvasir.execution.attempt.Execution;
import io.kvasir.execution.attempt.RetryState;
import java.util.concurrent.CompletableFuture;

/**
 * A workflow to be started.
 *
 * @param context the call
 * @param retries the history of its tries
 * @param start the workflow's first event
 * @param result completed once
 */
record WorkflowRequest(
    CallContext context, RetryState retries, WorkflowEvent start, CompletableFuture<Execution> result) {}
