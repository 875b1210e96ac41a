/**
 * The HTTP front door on every router node: the OpenAI and Anthropic APIs, and administration.
 * A request is read once, prepared (prompt), decided (cell), carried out (execution) and answered;
 * what it said and we do not understand is passed on unchanged.
 */
@NullMarked
package io.kvasir.gateway;

import org.jspecify.annotations.NullMarked;
