package io.kvasir.enginemodel;

/** That of layers with a sliding window: blocks that the next token sees, as {@code SlidingWindowManager} has it. */
final class WindowCache extends GroupCache {
  private final int window;

  WindowCache(int window, int number, int blockSize, BlockPool pool, GroupListener listener) {
    super(number, blockSize, Math.ceilDiv(window - 1, blockSize), pool, listener);
    this.window = window;
  }

  @Override
  int unseen(int tokens) {
    return Math.max(0, tokens - window + 1) / blockSize;
  }

  @Override
  int more(int required, int held) {
    return Math.max(0, required - held);
  }

  @Override
  void extend(HeldBlocks held, int required) {
    take(required - held.count, held);
  }
}
