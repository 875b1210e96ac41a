/**
 * What the front door's requests mean: the OpenAI and Anthropic APIs. {@link io.kvasir.gateway.Gateway} finds
 * what a path stands for; a request that a worker will answer is read once and prepared ({@code RequestPreparer}),
 * decided (cell) and carried out (execution) by {@code InferenceHandler}, and its answer passed on; {@code
 * RouteHandler} only tells how it would be decided.
 * What it said and we do not understand is passed on unchanged. Sockets are {@code gateway.http}'s, the
 * operator's side {@code gateway.admin}'s.
 */
@NullMarked
package io.kvasir.gateway;

import org.jspecify.annotations.NullMarked;
