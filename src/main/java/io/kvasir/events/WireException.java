package io.kvasir.events;

/** A fault in the bytes of a message. Control flow within the decoder, which catches it. */
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
