package io.kvasir.routing;

/**
 * How an engine is told to keep what a program has used over what nobody will come back to: between the program's
 * turns, while it waits for a tool or for a person.
 */
public enum Retention {
  /** It is not. */
  NONE,
  /**
   * SGLang's sessions, with {@code --enable-session-radix-cache}: blocks that a request with {@code session_id} has
   * used are evicted after all others, until {@code /close_session} names it (0.5.23, {@code
   * mem_cache/unified_cache/session_ref_tracker.py}).
   */
  SGLANG
}
