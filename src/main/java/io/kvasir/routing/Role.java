package io.kvasir.routing;

import java.util.Locale;

/** The role of a worker, and of a plan's step: what it does for a request. */
public enum Role {
  /** Prefill: computes the KV blocks of prompts. */
  PREFILL,
  /** Decode: generates tokens. */
  DECODE,
  /** Encode: turns images and audio into embeddings. */
  ENCODE,
  /** Prefill and decode: an aggregated worker. */
  BOTH;

  /** Its name in metrics and records, such as {@code prefill}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Whether a worker of this role can carry out a step of role {@code step}. */
  public boolean takes(Role step) {
    return this == step || (this == BOTH && step != ENCODE);
  }
}
