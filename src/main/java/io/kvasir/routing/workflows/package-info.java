/**
 * The workflows with more than one worker: prefill and decode, and encode, prefill and decode. Each is one class and
 * one line in {@link io.kvasir.routing.workflows.BuiltInWorkflows}. A workflow runs passes of selectors in a {@link
 * io.kvasir.routing.PlanningSession} and returns a plan; it decides which worker computes a prompt, which one decodes,
 * and whether splitting the two costs less than one worker for both.
 */
@NullMarked
package io.kvasir.routing.workflows;

import org.jspecify.annotations.NullMarked;
