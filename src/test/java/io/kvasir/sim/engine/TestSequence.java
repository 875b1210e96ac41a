package io.kvasir.sim.engine;

import java.util.Arrays;

/** A sequence whose token at position p of prompt {@code id} is known, and that samples {@code answer} tokens. */
final class TestSequence extends Sequence {
  private final int[] tokens;
  private final int answer;
  private final int blockSize;
  private int sampled;

  TestSequence(int[] prompt, int answer, int blockSize) {
    super(prompt.length);
    this.tokens = Arrays.copyOf(prompt, prompt.length + answer);
    this.answer = answer;
    this.blockSize = blockSize;
    for (int i = 0; i < answer; i++) {
      tokens[prompt.length + i] = Arrays.hashCode(prompt) + i;
    }
  }

  /** A sequence whose answer is given. */
  TestSequence(int[] prompt, int[] answer, int blockSize) {
    this(prompt, answer.length, blockSize);
    System.arraycopy(answer, 0, tokens, prompt.length, answer.length);
  }

  @Override
  protected long key(int block) {
    long key = 17;
    for (int i = 0; i < (block + 1) * blockSize; i++) {
      key = (key ^ tokens[i]) * 0x9E3779B97F4A7C15L;
      key ^= key >>> 29;
    }
    return key;
  }

  @Override
  protected boolean sample() {
    if (answer == 0) {
      return true;
    }
    grow();
    return ++sampled == answer;
  }

  int sampled() {
    return sampled;
  }

  int[] tokens(int from, int to) {
    return Arrays.copyOfRange(tokens, from, to);
  }
}
