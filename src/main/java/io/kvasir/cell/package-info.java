/**
 * A cell: up to 256 workers that serve one model group, which has as many cells as its workers need. A sharded entity
 * owns their membership, the index, the load ledger and one event actor per worker; HTTP threads of its home node read
 * them inline through a view, other nodes ask for a decision in one small message.
 */
@NullMarked
package io.kvasir.cell;

import org.jspecify.annotations.NullMarked;
