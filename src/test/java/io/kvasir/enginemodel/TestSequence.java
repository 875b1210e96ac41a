package io.kvasir.enginemodel;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A sequence whose prompt and answer are known beforehand. */
final class TestSequence extends Sequence {
  private final int[] tokens;
  private final int answer;
  private final int blockSize;
  private final @Nullable String salt;
  private int sampled;
  private @Nullable String session;
  private boolean lookahead;

  /** A sequence with an answer that depends on its prompt. */
  TestSequence(int[] prompt, int answer, int blockSize) {
    this(prompt, new int[answer], blockSize, null);
    Arrays.setAll(tokens, i -> i < prompt.length ? prompt[i] : Arrays.hashCode(prompt) + i);
  }

  /** A sequence whose answer is given. */
  TestSequence(int[] prompt, int[] answer, int blockSize, @Nullable String salt) {
    super(prompt.length);
    this.tokens = Arrays.copyOf(prompt, prompt.length + answer.length);
    this.answer = answer.length;
    this.blockSize = blockSize;
    this.salt = salt;
    System.arraycopy(answer, 0, tokens, prompt.length, answer.length);
  }

  /** The same for an engine whose keys depend on the token after a block. */
  TestSequence lookingAhead(boolean ahead) {
    lookahead = ahead;
    return this;
  }

  /** The same in a session. */
  TestSequence in(String its) {
    session = its;
    return this;
  }

  @Override
  protected @Nullable String session() {
    return session;
  }

  @Override
  protected long key(int block) {
    long key = Objects.hashCode(salt);
    for (int i = 0; i < (block + 1) * blockSize + (lookahead ? 1 : 0); i++) {
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

  @Override
  protected int plainSamples() {
    return Math.max(0, answer - 1 - sampled);
  }

  @Override
  protected void samplePlain(int count) {
    super.samplePlain(count);
    sampled += count;
  }

  int sampled() {
    return sampled;
  }

  /** The first {@code count} tokens of prompt and answer. */
  int[] tokens(int count) {
    return Arrays.copyOf(tokens, count);
  }

  @Nullable String salt() {
    return salt;
  }
}
