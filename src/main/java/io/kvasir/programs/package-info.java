/**
 * Programs: the agents and conversations that requests are turns of.
 *
 * <p>A request names its program, or {@link io.kvasir.programs.PrefixPrograms} recognises it by its prompt. A {@link
 * io.kvasir.programs.ThrashGuard} knows the programs of one cell: how much of the workers' memory each has for its own,
 * how long it thinks, whether it is expected back. A request is a {@link io.kvasir.programs.ProgramTurn} to it, which
 * may go or waits; that it goes, and its end, are reported back. When the live programs are more than the workers can
 * hold, the guard lets some wait so that the others find their prefixes.
 *
 * <p>Plain Java without actors and clocks: the laboratory uses these classes, too.
 */
@NullMarked
package io.kvasir.programs;

import org.jspecify.annotations.NullMarked;
