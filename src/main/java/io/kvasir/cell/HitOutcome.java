package io.kvasir.cell;

/** What became of the index's word that blocks of a prompt are cached. */
public enum HitOutcome {
  KEPT,
  BROKEN,
  /** The engine evicted them while the prompt waited, and reported that. */
  OVERTAKEN
}
