package io.kvasir.routing;

/** What a worker may do for a request. */
public enum Role {
  /** Reads prompts only. */
  PREFILL,
  /** Generates only. */
  DECODE,
  /** Turns images and sound into embeddings. */
  ENCODE,
  /** Reads and generates: an aggregated worker. */
  BOTH;

  /** Whether a worker of this role can take a step that asks for {@code step}. */
  public boolean takes(Role step) {
    return this == step || (this == BOTH && step != ENCODE);
  }
}
