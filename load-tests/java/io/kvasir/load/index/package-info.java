/**
 * The index beside other ways to build one, on a trace. {@link io.kvasir.load.index.IndexTrace} makes of a
 * trace what workers store and evict, {@link io.kvasir.load.index.IndexReplay} drives an {@link
 * io.kvasir.load.index.IndexUnderTest} with it and measures, {@link io.kvasir.load.index.IndexBench} is the
 * command that compares.
 */
@NullMarked
package io.kvasir.load.index;

import org.jspecify.annotations.NullMarked;
