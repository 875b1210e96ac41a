/**
 * From a request to a chain: messages, text (chat template), tokens, block hashes. Done once per
 * request on the node where it arrived. What was rendered and tokenised before is remembered by
 * prefix, so a turn costs its new text and not its history.
 */
@NullMarked
package io.kvasir.prompt;

import org.jspecify.annotations.NullMarked;
