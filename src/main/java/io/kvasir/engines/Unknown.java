package io.kvasir.engines;

/**
 * Something that an engine does not tell.
 *
 * @param what such as {@code block size}
 * @param remedy the engine's flag, or the line of the router's configuration, that would tell it; a whole sentence
 */
public record Unknown(String what, String remedy) {
  /** What {@code what} is where an engine does not tell how it publishes cache events. */
  public static final String EVENTS = "cache events";

  /** What {@code what} is where an engine does not tell whether it is for prefill or for decode. */
  static final String ROLE = "role";

  /** The same where it does not tell its connector either. */
  static final String ROLE_AND_CONNECTOR = "role and connector";
}
