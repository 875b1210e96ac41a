package io.kvasir.access;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A client's key, as the router knows it. Immutable.
 *
 * @param id its name for people, metrics and logs; unique
 * @param sha256 the SHA-256 of the key's text, as 64 lower-case hexadecimal digits; keys are random, so this suffices
 * @param tenant whom it belongs to
 * @param notAfter when it ceases to be valid, null for never
 * @param disabled whether it is refused
 * @param grants what its callers may do
 * @param limits what its callers may use, over all nodes together
 */
public record ApiKey(
    String id,
    String sha256,
    String tenant,
    @Nullable Instant notAfter,
    boolean disabled,
    Grants grants,
    Limits limits) {}
