/**
 * How many workers a model needs. A {@link io.kvasir.scale.ScaleAdvisor} for each {@link io.kvasir.scale.ScaleTarget},
 * a model and a role, is given the {@link io.kvasir.scale.FleetDemand} on its workers every few seconds: seconds of
 * prefill that arrive and are owed, requests and their context in flight, memory in use, and the {@link
 * io.kvasir.scale.Backlog} that no worker has been given. It works out the {@code Need}
 * of workers by what one can do at the times that are to be kept ({@link io.kvasir.scale.ScaleGoals}), follows the
 * needs of the last minutes to see what is to come ({@code NeedHistory}), and gives {@link
 * io.kvasir.scale.ScaleAdvice}: how many there should be now, with the reason in words. The laboratory grows and
 * shrinks its fleets by the same advisor.
 *
 * <p>{@code scale.live} feeds advisors with what the homes of cells say of their workers, and shows the advice.
 */
@NullMarked
package io.kvasir.scale;

import org.jspecify.annotations.NullMarked;
