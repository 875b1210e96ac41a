package io.kvasir.events;

/**
 * Reads a payload in whichever of the two notations it is: msgpack as engines publish it, or the same fields as
 * JSON. A msgpack batch is an array and begins with a byte no JSON text begins with. One thread at a time.
 */
final class PayloadDecoder {
  private final EventDecoder msgpack = new EventDecoder();
  private final JsonDecoder json = new JsonDecoder();

  /** Whether a payload is JSON rather than msgpack. */
  static boolean isJson(byte[] payload) {
    for (byte first : payload) {
      if (first != ' ' && first != '\n' && first != '\r' && first != '\t') {
        return first == '{' || first == '[';
      }
    }
    return false;
  }

  /**
   * Reads one batch. Never throws.
   *
   * @param sequence its number by the transport, {@link KvBatch#UNSEQUENCED} for none; one that the payload itself
   *     names ({@code seq}, JSON only) comes first
   */
  DecodedMessage decode(long sequence, byte[] payload) {
    return isJson(payload) ? json.decode(sequence, payload) : msgpack.decode(sequence, payload);
  }
}
