package io.kvasir.semantic;

import org.jspecify.annotations.Nullable;

/**
 * The clusters in service: what requests' texts are compared with. Immutable.
 *
 * @param embedder null before the examples were first embedded
 * @param centroids null before the examples were first embedded
 */
record ActiveClusters(SemanticSettings settings, @Nullable Embedder embedder, @Nullable Centroids centroids) {}
