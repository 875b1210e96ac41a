package io.kvasir.execution.workflow;

import io.kvasir.execution.Call;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.execution.dialect.PreprocessingStep;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What does not change while a workflow goes on.
 *
 * @param call the client's request
 * @param retries decides on retries and hedges
 * @param preprocessing how steps before prefill are done, by their names
 * @param hedgeAfter how long a request waits for the first worker before it is hedged, null for never
 */
record WorkflowRules(
    Call call, RetryPolicy retries, Map<String, PreprocessingStep> preprocessing, @Nullable Duration hedgeAfter) {}
