package io.kvasir.execution.attempt;

import io.kvasir.execution.Result;

/**
 * The result of a call and the history of its tries, which a resumption of its stream continues.
 *
 * @param result the result
 * @param retries the history
 */
public record Execution(Result result, RetryState retries) {}
