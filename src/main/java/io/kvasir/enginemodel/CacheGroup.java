package io.kvasir.enginemodel;

/**
 * A KV cache group of a hybrid model beside its layers of full attention. What it keeps for later prompts is what vLLM
 * 0.32 keeps by default ({@code prefix_cache_retention_interval} 0): what is needed to go on from the last full block
 * of a prompt, and from where it parts from what the prefix has of others; nothing of the answer.
 */
public sealed interface CacheGroup {
  /** What the name of a group with a window begins with. */
  String WINDOW = "window=";

  /**
   * Layers that see the last tokens only.
   *
   * @param window that many, with the one that is computed; at least 2
   */
  record SlidingWindow(int window) implements CacheGroup {
    /** Checks the window. */
    public SlidingWindow {
      if (window < 2) {
        throw new IllegalArgumentException("a window must have at least 2 tokens, not " + window);
      }
    }
  }

  /**
   * Layers with a state, such as Mamba's, in vLLM's mode {@code align}: there is a state where an iteration ends, which
   * is at the end of a block while a prompt is computed, up to its last full one.
   */
  record State() implements CacheGroup {}

  /**
   * A group by its name.
   *
   * @param text {@code state}, or {@code window=1024}
   * @throws IllegalArgumentException when there is no such group
   */
  static CacheGroup parse(String text) {
    if (text.equals("state")) {
      return new State();
    }
    if (text.startsWith(WINDOW)) {
      try {
        return new SlidingWindow(Integer.parseInt(text.substring(WINDOW.length())));
      } catch (NumberFormatException noNumber) {
        throw new IllegalArgumentException("a window must have a number of tokens, not '" + text + "'", noNumber);
      }
    }
    throw new IllegalArgumentException("must look like window=1024 or state, not '" + text + "'");
  }
}
