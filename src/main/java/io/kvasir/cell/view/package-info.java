/**
 * A cell as the threads of its home node see it. A decision takes a {@code CellFleet} of the {@link
 * io.kvasir.cell.view.CellView}: the members in their {@code MemberTable}, their {@code HealthSnapshot}, their load as
 * it is. The routing room chooses, and what it has chosen is booked and predicted before the next of its {@code
 * PrefixStripes} looks; {@link io.kvasir.cell.view.RemoteDecisions} hold what they book under the names that other
 * nodes give it. Nothing here asks an actor.
 */
@NullMarked
package io.kvasir.cell.view;

import org.jspecify.annotations.NullMarked;
