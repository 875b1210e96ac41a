/**
 * The costs of prompts and answers on engines. {@link io.kvasir.routing.cost.CostModel} has coefficients by engine name
 * and learns a {@link io.kvasir.routing.cost.Deployment}'s own from times to first token ({@code CostFit}),
 * and how much longer single engines take than the others of theirs ({@code DeploymentPaces}, of each engine
 * {@code PaceFit}); {@link
 * io.kvasir.routing.cost.OutputLengths} has expected answer lengths by model. Both are updated with each request's
 * outcome; decisions read them as columns of a fleet ({@link io.kvasir.routing.cost.FleetCosts}). What a worker can
 * generate at a pace follows from its {@link io.kvasir.routing.cost.DecodeCost}.
 */
@NullMarked
package io.kvasir.routing.cost;

import org.jspecify.annotations.NullMarked;
