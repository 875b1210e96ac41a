/**
 * Published rules that the laboratory compares and the router does not ship, as plugins and profiles of their own. A
 * run has one {@link io.kvasir.lab.rules.PublishedRules}, which it passes each first token: a rule that learns sees no
 * more of a run than a router would.
 *
 * <p>What was published of each rule and what is our reading of it stands at its class.
 */
@NullMarked
package io.kvasir.lab.rules;

import org.jspecify.annotations.NullMarked;
