package io.kvasir.enginemodel;

import java.util.Arrays;
import java.util.Locale;

/**
 * What becomes of the prefix cache where an engine speculates with a draft model that reads its own hidden states, such
 * as EAGLE or MTP: what that model keeps of a block's last token depends on the token after it.
 */
public enum Speculation {
  /** There is no such model. */
  NONE,
  /** The last block that is found is computed again: vLLM up to 0.32, and later ones beside a KV connector. */
  RECOMPUTES_LAST_BLOCK,
  /**
   * A block is shared only among sequences that go on with the same token, and cached once there is one: vLLM from 0.33
   * on by its {@code lookahead} hashes, SGLang by keys of token pairs.
   */
  LOOKAHEAD;

  /**
   * One by its name, such as {@code recomputes-last-block}.
   *
   * @throws IllegalArgumentException when there is none of that name
   */
  public static Speculation parse(String text) {
    return Arrays.stream(values())
        .filter(one -> one.toString().equals(text))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException(
            "must be one of " + Arrays.toString(values()) + ", not '" + text + "'"));
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
