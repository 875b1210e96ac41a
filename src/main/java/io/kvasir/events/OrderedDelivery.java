package io.kvasir.events;

import java.util.List;

/** The delivery of a stream in order: what is due is passed on, and the rest is held. One thread at a time. */
final class OrderedDelivery {
  private final SequencerOutput output;
  private final StreamGap gap;
  private final boolean fromOne;
  private final DeliveredPosition position = new DeliveredPosition();
  private final ReorderBuffer buffer = new ReorderBuffer();

  /**
   * The delivery before the first message.
   *
   * @param gap is told what is lost
   * @param fromOne whether numbers may begin at 1 as well as at 0
   */
  OrderedDelivery(SequencerOutput output, StreamGap gap, boolean fromOne) {
    this.output = output;
    this.gap = gap;
    this.fromOne = fromOne;
  }

  /** Resumes after a position that another subscription has delivered. */
  void resumeAfter(StreamPosition last) {
    position.resumeAfter(last);
  }

  /** Begins again before the first message. */
  void reset() {
    buffer.clear();
    position.reset();
  }

  /** Drops what is held. */
  void clear() {
    buffer.clear();
  }

  /** The number to deliver next; what is before it was delivered, or is known to be lost. */
  long next() {
    return position.next();
  }

  /** Whether there is no room to hold more. */
  boolean full() {
    return buffer.full();
  }

  boolean holdsNothing() {
    return buffer.isEmpty();
  }

  /** Whether a message is the last one that was delivered. */
  boolean isLast(KvBatch batch) {
    return position.isLast(batch);
  }

  /** Whether the message of a number has neither been delivered nor is held intact. */
  boolean lacks(long sequence) {
    return sequence >= next() && buffer.lacks(sequence);
  }

  /** Whether the message of a number is due. */
  boolean follows(long sequence) {
    return sequence == next() || (fromOne && next() == 0 && sequence == 1);
  }

  /** Holds a message until it is due. */
  void hold(DecodedMessage decoded, int bytes, boolean live) {
    buffer.put(decoded, bytes, live);
  }

  /** Delivers a message that is due. */
  void pass(DecodedMessage decoded, int bytes, boolean live) {
    position.delivered(decoded.batch());
    output.deliver(decoded.batch(), bytes, live);
  }

  /** Delivers what is held and due; a damaged live message waits for the replay's copy. */
  void drain() {
    while (!buffer.isEmpty() && follows(buffer.first()) && !buffer.firstIsRepairable()) {
      passFirst();
    }
  }

  /** Delivers a snapshot, and drops the messages that are in it. */
  void snapshot(EngineSnapshot snapshot) {
    long resume = snapshot.resume();
    position.snapshot(resume, buffer.publishedAt(resume - 1), snapshot.takenAt());
    buffer.dropBelow(resume);
    // The position of these parts is in no history: whoever goes on from the middle of them begins anew.
    output.deliver(new KvBatch(resume - 1, 0, KvBatch.UNKNOWN_RANK, List.of(new KvEvent.Snapshot(resume))), 0, false);
    for (EngineSnapshot.Part part : snapshot.parts()) {
      output.deliver(new KvBatch(resume - 1, 0, part.rank(), part.events()), part.bytes(), false);
    }
  }

  /** Delivers all that is held, in order, and reports the messages missing between as lost. */
  void abandonMissing() {
    abandonBelow(buffer.last() + 1);
  }

  /** Delivers what is held below {@code limit}, in order, and reports the missing messages as lost. */
  void abandonBelow(long limit) {
    while (next() < limit) {
      long first = buffer.isEmpty() ? limit : Math.min(limit, buffer.first());
      if (first > next() && !(first < limit && follows(first))) {
        gap.abandon(next(), first - 1);
        position.skipTo(first);
      }
      if (first < limit) {
        passFirst();
      }
    }
    drain();
  }

  private void passFirst() {
    ReorderBuffer.BufferedMessage held = buffer.take();
    pass(held.decoded(), held.bytes(), held.live());
    if (!held.decoded().intact()) {
      long sequence = held.decoded().batch().sequence();
      gap.abandon(sequence, sequence);
    }
  }
}
