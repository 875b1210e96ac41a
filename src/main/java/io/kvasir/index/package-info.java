/**
 * Who holds this block? One {@code BlockIndex} per cell answers on the request's critical path while
 * events change it.
 *
 * <p>Data comes in through a worker's writer handle (keys an engine uses, chain hashes, tiers) and
 * leaves through a search: a chain goes in, the depth of every worker comes out. Readers never wait;
 * a worker's handle has one writing thread at a time, and any thread may predict through it what a
 * prompt just sent there will make the worker hold. An index that must become wider, or move, is handed
 * over part by part. This room imports nothing of ours and no actors, so that it can be tested, checked
 * and benchmarked alone.
 */
@NullMarked
package io.kvasir.index;

import org.jspecify.annotations.NullMarked;
