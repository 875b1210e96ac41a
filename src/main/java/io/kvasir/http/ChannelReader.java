package io.kvasir.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** The reader of one channel. It runs on a thread that others share, so it must not block. */
public interface ChannelReader {
  /**
   * Reads what has come. It may be called in a pause, for a {@link WatchedChannel#resume} that came before it: a reader
   * that must not read then returns {@code PAUSE} again.
   *
   * @param buffers for use within the call
   * @throws IOException ends the reading with that failure
   */
  Next read(Buffers buffers) throws IOException;

  /**
   * The reading has ended and the loop has let go of the channel. Called once, and nothing after it.
   *
   * @param failure what the reading failed with, also that the channel was closed; null when it ended by itself
   */
  void ended(@Nullable IOException failure);

  /** What a reader waits for next. */
  enum Next {
    /** More bytes. */
    MORE,
    /** That it is resumed. */
    PAUSE,
    /** Nothing: it has ended. */
    END
  }

  /**
   * The buffers of a loop's thread. Readers use them in turn, so that thousands of channels that wait have none of
   * their own, and those that are read find these in the processor's caches.
   */
  final class Buffers {
    private static final int INPUT_BYTES = 8 << 10;
    private static final int PIECE_BYTES = 32 << 10;
    private static final int DIRECT_BYTES = 128 << 10;

    private final byte[] input = new byte[INPUT_BYTES];
    private final byte[] piece = new byte[PIECE_BYTES];
    private final ByteBuffer direct = ByteBuffer.allocateDirect(DIRECT_BYTES);

    Buffers() {}

    /** {@value #INPUT_BYTES} bytes for what comes from the channel. */
    public byte[] input() {
      return input;
    }

    /** {@value #PIECE_BYTES} bytes for a piece of a body, its framing taken off. */
    public byte[] piece() {
      return piece;
    }

    /** {@value #DIRECT_BYTES} bytes outside of the heap. */
    public ByteBuffer direct() {
      return direct;
    }
  }
}
