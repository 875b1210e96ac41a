package io.kvasir.prompt.tokens;

import java.io.Serial;

/** Thrown for a text with a part that takes too much time and memory to tokenise at once. */
public final class TextTooLongException extends IllegalArgumentException {
  @Serial private static final long serialVersionUID = 1L;

  /** A part of so many bytes; {@code what} describes it and has nothing of the text. */
  TextTooLongException(String what, int bytes) {
    super(what + " of " + bytes + " bytes");
  }
}
