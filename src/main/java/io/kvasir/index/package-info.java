/**
 * The index of KV blocks: which worker of a cell holds which block? One {@link io.kvasir.index.BlockIndex} per cell is
 * searched on the request's critical path while events change it.
 *
 * <p>Events come in through each worker's {@link io.kvasir.index.WorkerBlocks}, as engine keys, chain hashes and tiers.
 * A search takes a prompt's {@link io.kvasir.index.Chain} and returns the depth to which every worker holds it.
 * Searches are wait-free. One thread at a time writes a worker's blocks; any thread may predict the blocks of a prompt
 * that is being sent to a worker. An index that has to become wider, or to move, is handed over part by part
 * ({@link io.kvasir.index.HandOver}). What workers lose by evicting, blocks that are soon stored again, is counted
 * beside it ({@link io.kvasir.index.BlockIndex#evictionLoss}). This package imports no other package of Kvasir and no
 * actors, so that it can be tested, model-checked and benchmarked by itself.
 */
@NullMarked
package io.kvasir.index;

import org.jspecify.annotations.NullMarked;
