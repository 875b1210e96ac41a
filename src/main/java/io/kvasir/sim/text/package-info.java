/**
 * A simulated model's language. {@link io.kvasir.sim.text.ModelText} makes tokens of texts and conversations, with the
 * model's files and the router's own {@code io.kvasir.prompt}; {@link io.kvasir.sim.text.SyntheticText} chooses the
 * words of answers: of one token each, so that they are found in the cache when they come back as history. {@link
 * io.kvasir.sim.text.AnswerPlanner} makes the answers that are known as a whole, calls of tools and what a schema or an
 * expression allows; {@link io.kvasir.sim.text.TokenLogprobs} tells how likely tokens were.
 */
@NullMarked
package io.kvasir.sim.text;

import org.jspecify.annotations.NullMarked;
