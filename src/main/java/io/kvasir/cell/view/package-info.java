/**
 * A cell as the threads of its home node read it. A decision of the {@code CellDecider} takes a {@code CellFleet} of
 * the {@link io.kvasir.cell.view.CellView}: the members in their {@code MemberTable}, their {@code HealthSnapshot}, and
 * their load at that moment. The routing room chooses; the choice is booked and predicted before the next decision in
 * the same stripe of the {@code PrefixStripes}. The {@link io.kvasir.cell.view.DecisionServer} decides for other nodes
 * and holds what it books under the ids that those give it. {@link io.kvasir.cell.view.PromptBlockSize} is how prompts
 * are cut. {@link io.kvasir.cell.view.CellPrograms} know of which program a request is a turn. A request that has to
 * wait for its turn does in {@link io.kvasir.cell.view.CellAdmission}, as a {@code PendingDecision}; {@code
 * LeasedTurns} have the results for other nodes until they fetch them. For one that would wait too long {@code
 * Preemptions} take back what is at a worker and less urgent, and has not been answered. {@link
 * io.kvasir.cell.view.CellMetrics} counts, {@code CellGauges} reads the cells when metrics are scraped. No message to
 * an actor is needed.
 */
@NullMarked
package io.kvasir.cell.view;

import org.jspecify.annotations.NullMarked;
