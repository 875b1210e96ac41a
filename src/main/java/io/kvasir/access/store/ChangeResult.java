package io.kvasir.access.store;

/** The outcome of a key's change. */
public enum ChangeResult {
  /** Every node has it. */
  DONE,
  /** This node has it; another has not confirmed it yet, and gets it when it can be reached. */
  UNCONFIRMED,
  /** This node does not know yet what the others know: nothing was changed. */
  NOT_READY,
  /** There are too many changes already: nothing was changed. */
  FULL
}
