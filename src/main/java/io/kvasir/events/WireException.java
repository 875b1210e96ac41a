package io.kvasir.events;

/** Bytes that cannot be what they should be. Control flow within the decoder; never leaves it. */
final class WireException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final DecodeFault fault;

  WireException(DecodeFault fault, String message) {
    super(message, null, false, false);
    this.fault = fault;
  }

  DecodeFault fault() {
    return fault;
  }
}
