package io.kvasir.events;

/** What a {@link Sequencer} has at its other side: the receiver of the ordered stream, and the transport's replay. */
interface SequencerOutput {
  /** Delivers a batch; {@code live} unless it was replayed or is the stream's own. */
  void deliver(KvBatch batch, int bytes, boolean live);

  /** Begins a new round of replay, and ends the one under way, if any. */
  void replay(long from);

  /** Asks for a snapshot, and ends the round of replay under way, if any. */
  void snapshot();

  /** Ends the replay or the request for a snapshot under way, if any. */
  void endReplay();
}
