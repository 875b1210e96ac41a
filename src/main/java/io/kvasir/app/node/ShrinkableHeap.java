package io.kvasir.app.node;

/** A heap that takes memory from the operating system as it needs it, and gives it back when told. */
interface ShrinkableHeap {
  /** Bytes it has taken from the operating system. */
  long committed();

  /** Collections of any kind so far. */
  long collections();

  /** Collects all of it, and gives back what it then has too much of. */
  void shrink();
}
