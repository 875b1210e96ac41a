package io.kvasir.http.client;

/**
 * The end of a short exchange.
 *
 * @param status HTTP status, 200..599
 * @param whole whether the body was read to its end; false where it is longer than was to be read
 */
public record ShortAnswer(int status, boolean whole) {
  /** The receiver of a body's pieces, on a thread that others share: it must not block. */
  @FunctionalInterface
  public interface Body {
    /** Takes the first {@code length} bytes of the buffer, which is the caller's again afterwards. */
    void accept(byte[] buffer, int length);
  }
}
