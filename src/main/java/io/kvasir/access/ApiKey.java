package io.kvasir.access;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A client's key, as the router knows it. Immutable.
 *
 * @param id its name for people, metrics and logs; unique
 * @param digest the digest of the key's text; keys are random, so SHA-256 suffices
 * @param previous the digest of the text before the last rotation while that is still valid, null for none
 * @param tenant whom it belongs to
 * @param notAfter when it ceases to be valid, null for never
 * @param disabled whether it is refused
 * @param grants what its callers may do
 * @param limits what its callers may use, over all nodes together
 */
public record ApiKey(
    String id,
    KeyDigest digest,
    @Nullable PreviousDigest previous,
    String tenant,
    @Nullable Instant notAfter,
    boolean disabled,
    Grants grants,
    Limits limits) {
  /**
   * The digest of a key's text before it was rotated.
   *
   * @param notAfter when the text ceases to be valid
   */
  public record PreviousDigest(KeyDigest digest, Instant notAfter) {}

  /** The same key, refused or not. */
  public ApiKey withDisabled(boolean refused) {
    return new ApiKey(id, digest, previous, tenant, notAfter, refused, grants, limits);
  }
}
