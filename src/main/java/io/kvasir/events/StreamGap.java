package io.kvasir.events;

/**
 * The gap in a stream: announced when messages may be missing, and closed when all of them have been delivered that are
 * not known to be lost. One thread at a time.
 */
final class StreamGap {
  private final SequencerOutput output;

  /** It was announced and not closed. */
  private boolean open;

  /** Some of it was abandoned. */
  private boolean lossy;

  StreamGap(SequencerOutput output) {
    this.output = output;
  }

  /** Announces it, unless it has been; {@code next} is the number that is expected next. */
  void open(long next) {
    if (!open) {
      open = true;
      lossy = false;
      emit(new KvEvent.Gap(next));
    }
  }

  /** Reports messages as lost. */
  void abandon(long from, long to) {
    lossy = true;
    emit(new KvEvent.GapAbandoned(from, to));
  }

  /** Whether it is open, and some of it was abandoned. */
  boolean isLossy() {
    return open && lossy;
  }

  /** Notes that a snapshot made up for what was abandoned. */
  void mended() {
    lossy = false;
  }

  /** Closes it if it is open: nothing is missing but what was abandoned. */
  void close() {
    if (open) {
      open = false;
      if (!lossy) {
        emit(new KvEvent.GapClosed());
      }
    }
  }

  /** Forgets it, as a new history begins; whether it was open. */
  boolean forget() {
    boolean was = open;
    open = false;
    lossy = false;
    return was;
  }

  private void emit(KvEvent event) {
    output.deliver(KvBatch.ofStream(event), 0, false);
  }
}
