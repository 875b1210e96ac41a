/**
 * What a prompt costs an engine: coefficients by engine name, what is learnt of them from first tokens per engine
 * and model, and how long answers tend to be. Fed by outcomes, read by every decision.
 */
@NullMarked
package io.kvasir.routing.cost;

import org.jspecify.annotations.NullMarked;
