package io.kvasir.execution.workflow;

import io.kvasir.execution.dialect.EngineRequest;
import java.util.List;

/**
 * A preparation about to begin.
 *
 * @param state the request as the steps after it are to see it
 * @param requests what its worker is sent; empty when this request needs nothing of it
 */
record PendingPreprocessing(WorkflowState state, List<EngineRequest> requests) {}
