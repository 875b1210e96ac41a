package io.kvasir.events;

/**
 * The decoder of payloads in either notation: msgpack as engines publish it, or the same fields as JSON. A msgpack
 * batch is an array, whose first byte begins no JSON text. One thread at a time.
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
   * @param sequence its number by the transport, {@link KvBatch#UNSEQUENCED} for none; a number in the payload
   *     ({@code seq}, JSON only) takes precedence
   */
  DecodedMessage decode(long sequence, byte[] payload) {
    return isJson(payload) ? json.decode(sequence, payload) : msgpack.decode(sequence, payload);
  }
}
