/**
 * Semantic clusters: requests that mean about the same go to the same workers.
 *
 * <p>An operator gives each cluster some examples. {@link io.kvasir.semantic.SemanticClusters} has an OpenAI-compatible
 * endpoint turn them into vectors (an {@code EmbeddingEndpoint}) and keeps their middles ({@code Centroids}); what a
 * user says is embedded within a budget ({@code Embedder}, which remembers what it was asked lately) and compared with
 * those. The profiles' plugins are routing's own and ask through {@link io.kvasir.routing.TextClusters}, so this room
 * knows nothing of workers.
 *
 * <p>Everything that can go wrong with the endpoint means "unknown" to a request, is counted by why, and ends by
 * itself.
 */
@NullMarked
package io.kvasir.semantic;

import org.jspecify.annotations.NullMarked;
