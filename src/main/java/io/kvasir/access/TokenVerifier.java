package io.kvasir.access;

/** The check of tokens that an identity provider has signed. Thread-safe, and never waits. */
@FunctionalInterface
public interface TokenVerifier {
  /**
   * The caller that a token names, or why it is refused.
   *
   * @param token as the request carries it; anything may stand there
   * @param digest the token's
   */
  Authentication verify(String token, KeyDigest digest);
}
