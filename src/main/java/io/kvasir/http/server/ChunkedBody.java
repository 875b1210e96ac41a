package io.kvasir.http.server;

/**
 * The framing of a chunked body, read strictly by RFC 9112 §7.1 and removed. Extensions and trailers are checked and
 * dropped; how many bytes they may take is limited. Each byte is looked at once. One thread at a time.
 */
final class ChunkedBody {
  /** Bytes of all extensions and trailers of a body. */
  private static final int MAX_EXTRA_BYTES = 16 << 10;

  /** Digits of a chunk's length; leading zeros count. */
  private static final int MAX_DIGITS = 16;

  private enum State {
    FIRST_DIGIT,
    LENGTH,
    EXTENSION,
    LENGTH_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER_START,
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    END_LF,
    END
  }

  private State state = State.FIRST_DIGIT;
  private int digits;
  private long remaining;
  private int extra;

  // Where the data go.
  private byte[] data = new byte[0];
  private int size;

  /** Whether the body has ended. */
  boolean isEnded() {
    return state == State.END;
  }

  /** Where the data of the last {@link #read} end in its {@code into}. */
  int end() {
    return size;
  }

  /**
   * Reads on, to the end of the input or of the body.
   *
   * @param into takes the data, from {@code at} on
   * @return where it stopped in {@code input}
   */
  int read(byte[] input, int from, int to, byte[] into, int at) throws RefusedRequestException {
    data = into;
    size = at;
    int next = from;
    while (next < to && state != State.END) {
      if (state == State.DATA) {
        int count = (int) Math.min(remaining, to - next);
        System.arraycopy(input, next, data, size, count);
        size += count;
        next += count;
        remaining -= count;
        if (remaining == 0) {
          state = State.DATA_CR;
        }
      } else {
        state = after(input[next++]);
      }
    }
    return next;
  }

  private State after(byte b) throws RefusedRequestException {
    return switch (state) {
      case FIRST_DIGIT -> {
        remaining = 0;
        digits = 0;
        yield digit(b);
      }
      case LENGTH -> switch (b) {
        case '\r' -> State.LENGTH_LF;
        case ';' -> State.EXTENSION;
        default -> digit(b);
      };
      case EXTENSION -> b == '\r' ? State.LENGTH_LF : text(b, State.EXTENSION);
      case LENGTH_LF -> lineFeed(b, remaining == 0 ? State.TRAILER_START : State.DATA);
      case DATA_CR -> {
        if (b != '\r') {
          throw HeadLines.malformed("a chunk is longer than announced");
        }
        yield State.DATA_LF;
      }
      case DATA_LF -> lineFeed(b, State.FIRST_DIGIT);
      case TRAILER_START -> b == '\r' ? State.END_LF : name(b);
      case TRAILER_NAME -> b == ':' ? State.TRAILER_VALUE : name(b);
      case TRAILER_VALUE -> b == '\r' ? State.TRAILER_LF : text(b, State.TRAILER_VALUE);
      case TRAILER_LF -> lineFeed(b, State.TRAILER_START);
      case END_LF -> lineFeed(b, State.END);
      case DATA, END -> throw new IllegalStateException(state + " has no syntax");
    };
  }

  private State digit(byte b) throws RefusedRequestException {
    int value = Characters.hex(b);
    if (value < 0 || ++digits > MAX_DIGITS) {
      throw HeadLines.malformed("a chunk's length is no hexadecimal number");
    }
    remaining = 16 * remaining + value;
    if (remaining > Integer.MAX_VALUE) {
      throw HeadLines.malformed("a chunk's length is beyond " + Integer.MAX_VALUE);
    }
    return State.LENGTH;
  }

  private State name(byte b) throws RefusedRequestException {
    if (!Characters.isToken(b)) {
      throw HeadLines.malformed("a trailer's name is illegal");
    }
    return text(b, State.TRAILER_NAME);
  }

  private State text(byte b, State next) throws RefusedRequestException {
    if (!Characters.isText(b)) {
      throw HeadLines.malformed("an extension or a trailer of its chunked body has a control character");
    }
    if (++extra > MAX_EXTRA_BYTES) {
      throw new RefusedRequestException(
          431, "the extensions and trailers of the chunked body are longer than the limit of " + MAX_EXTRA_BYTES
          + " bytes");
    }
    return next;
  }

  private static State lineFeed(byte b, State next) throws RefusedRequestException {
    if (b != '\n') {
      throw HeadLines.malformed("a CR of its chunked body is not followed by LF");
    }
    return next;
  }
}
