/**
 * Semantic clusters: requests with about the same meaning go to the same workers.
 *
 * <p>An operator gives each cluster some examples. {@link io.kvasir.semantic.SemanticClusters} is the front. An {@code
 * ExampleEmbedder} has an OpenAI-compatible endpoint turn the examples into vectors (an {@code EmbeddingEndpoint}) and
 * puts their means ({@code Centroids}) into service by way of a {@code ClusterRollout}. A request's text is embedded
 * within a budget ({@code Embedder}, with a cache and a {@link io.kvasir.http.CircuitBreaker}) and compared with the
 * centroids. The profiles' plugins belong to routing and reach this room through {@link
 * io.kvasir.routing.TextClusters}, so nothing here knows of workers.
 *
 * <p>Whatever goes wrong with the endpoint means an unknown cluster for the request, is counted by reason, and ends
 * by itself.
 */
@NullMarked
package io.kvasir.semantic;

import org.jspecify.annotations.NullMarked;
