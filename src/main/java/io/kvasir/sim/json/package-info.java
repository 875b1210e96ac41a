/**
 * Bodies and errors as the engine's API has them: a {@link io.kvasir.sim.json.RequestBody} is read field by field; what
 * does not fit, or cannot be done, is an {@link io.kvasir.sim.json.EngineApiException} with the engine's own complaint,
 * which {@link io.kvasir.sim.json.EngineErrors} writes; {@link io.kvasir.sim.json.JsonReply} sends a document as an
 * answer.
 */
@NullMarked
package io.kvasir.sim.json;

import org.jspecify.annotations.NullMarked;
