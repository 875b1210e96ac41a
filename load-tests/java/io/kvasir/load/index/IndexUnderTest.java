package io.kvasir.load.index;

import io.kvasir.load.index.IndexTrace.Request;

/** An index as the replay drives it: one writer at a time for each worker, any number of readers. */
interface IndexUnderTest {
  /** Applies what a request evicts from its worker and what it stores there; returns how many blocks that was. */
  int apply(Request request);

  /** Writes how many leading blocks of a chain each worker holds. */
  void search(long[] chain, long[] locals, int[] depths);

  /** (worker, block) pairs held. */
  long pairs();
}
