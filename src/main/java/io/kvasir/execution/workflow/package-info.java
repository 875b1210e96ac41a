/**
 * Workflows: requests that take several steps, a retry or a hedge. {@link
 * io.kvasir.execution.workflow.WorkflowSupervisor} is the entry; it spawns a {@code WorkflowActor} for each.
 *
 * <p>An actor turns what happens into a {@code WorkflowEvent}; {@code WorkflowTransitions}, a pure function, derives
 * from it and the {@code WorkflowState} the next state and the {@code WorkflowEffect}s, which the actor carries out:
 * short ones itself, long ones through {@code WorkflowIo} on virtual threads, whose results are events again. Which
 * step starts when is decided by {@code PlanSteps}; what a failure leads to is a {@code Recovery}; the requests that a
 * plan's workers get are made by {@code StepTasks} from the {@code PlanState}.
 */
@NullMarked
package io.kvasir.execution.workflow;

import org.jspecify.annotations.NullMarked;
