/**
 * Inference pools as an endpoint picker knows them: {@link io.kvasir.pools.Pool}, the {@link
 * io.kvasir.pools.ModelRewrite}s and {@link io.kvasir.pools.Objective}s that belong to them, and the {@link
 * io.kvasir.pools.LivePools} of a node, which configuration and Kubernetes both fill.
 */
@NullMarked
package io.kvasir.pools;

import org.jspecify.annotations.NullMarked;
