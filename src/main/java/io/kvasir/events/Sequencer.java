package io.kvasir.events;

/**
 * The sequencer of one stream: orders the messages that a lossy publisher sends live and those of its lossy replay,
 * drops duplicates, and detects gaps and restarts. Independent of transport and clock: the transport reports what
 * arrived, and the sequencer requests replays through {@link SequencerOutput}. One thread at a time.
 *
 * <p>Messages carry numbers from 0 and the time of their publishing. A number that goes back is a duplicate or a new
 * process: a message published later than any seen comes from a new process. A connection that was lost and made again
 * may lead to a new process that has already caught up with the old numbers, so before anything more is delivered the
 * replay must contain the last message again, with its time; any other message means another history.
 *
 * <p>A replay may itself lose messages, also the mark at its end. So its messages are ordered together with the live
 * ones, and the first missing number is requested again, until nothing is missing or several rounds brought nothing
 * new. Two things end it early: a live message up to which everything is complete (nothing can be missing), and an
 * engine that repeatedly replays from a later number than requested (its buffer does not reach back that far). Messages
 * that cannot be read count as missing, since a replay may bring them intact.
 *
 * <p>Where the engine offers snapshots, one is requested instead of a replay from the very beginning, and when a replay
 * leaves something missing. It takes the place of all that was delivered, and of the live messages before the number it
 * resumes with. A snapshot that is not to be had leaves everything as it would be without any.
 */
final class Sequencer {
  private enum Phase {
    /** Everything up to {@link #next()} was delivered, or is known to be lost. */
    LIVE,
    /** Something may be missing and a replay is under way. */
    REPLAYING,
    /** Something may be missing and a snapshot was requested: live messages wait for it. */
    SNAPSHOT,
    /** Something may be missing and no replay is available: the next live message decides. */
    UNVERIFIED
  }

  private final SequencerOutput output;
  private final EventMetrics.SourceMetrics metrics;
  private final boolean replayable;
  private final SnapshotTries snapshots;

  private Phase phase = Phase.LIVE;
  private final OrderedDelivery delivery;
  /** The highest number seen when the snapshot under way was requested. */
  private long seenBeforeSnapshot;

  private final SeenMessages seen = new SeenMessages();
  private final StreamGap gap;

  /** A connection was lost while its replay was under way: what was delivered may mix two histories. */
  private boolean interrupted;

  /** Something was abandoned, and neither a snapshot nor a restart has made up for it. */
  private boolean lacking;

  /** The replay under way has to contain the last message again before anything more is delivered. */
  private boolean verifying;

  private final ReplayRounds rounds = new ReplayRounds();

  /**
   * A sequencer before the first message.
   *
   * @param replayable whether the engine offers a replay
   * @param snapshots whether it offers snapshots
   * @param fromOne whether its numbers may begin at 1 as well as at 0
   */
  Sequencer(
      SequencerOutput output,
      boolean replayable,
      boolean snapshots,
      boolean fromOne,
      EventMetrics.SourceMetrics metrics) {
    this.output = output;
    this.gap = new StreamGap(output);
    this.delivery = new OrderedDelivery(output, gap, fromOne);
    this.replayable = replayable;
    this.snapshots = new SnapshotTries(snapshots);
    this.metrics = metrics;
  }

  /** Resumes after a position that another subscription has delivered; before the first message. */
  void resumeAfter(StreamPosition last) {
    delivery.resumeAfter(last);
    seen.resumeAfter(last);
  }

  /** Whether the reorder buffer is full: no more live messages should be read for now. */
  boolean full() {
    return delivery.full();
  }

  /** Notes that the transport is connected, or that engines can connect to it: checks what was missed. */
  void connected() {
    if (interrupted) {
      restart();
    }
    seen.connected();
    snapshots.connected();
    gap.open(next());
    if (!replayable) {
      phase = Phase.UNVERIFIED;
    } else if (next() == 0) {
      // Messages of the connection before prove nothing: they may be from another process.
      delivery.clear();
      seen.forget();
      readHistory();
    } else {
      verifying = true;
      begin(next() - 1);
    }
  }

  /** The number expected next. */
  long next() {
    return delivery.next();
  }

  /** Notes that messages may be missed from now on, as nothing can be received. */
  void unreceivable() {
    gap.open(next());
  }

  /** Notes that the engine, or the stored history of it, has restarted, as the transport knows. */
  void restarted() {
    restart();
  }

  /** Notes that all stored messages were delivered, as the transport knows: only lost ones can be missing. */
  void caughtUp() {
    if (phase == Phase.UNVERIFIED) {
      finish();
    }
  }

  /** Notes that the transport is disconnected. */
  void disconnected() {
    if (phase == Phase.REPLAYING || phase == Phase.SNAPSHOT) {
      output.endReplay();
      interrupted = true;
      verifying = false;
      phase = Phase.UNVERIFIED;
    }
  }

  /** Takes a live message. */
  void live(DecodedMessage decoded, int bytes) {
    KvBatch batch = decoded.batch();
    long sequence = batch.sequence();
    if (interrupted) {
      // Left over from the lost connection. The replay on the next one brings it if the engine still has it.
      return;
    }
    if (seen.isRestart(decoded)) {
      restart();
    }
    seen.live(sequence);
    seen.observe(decoded);
    if (!delivery.lacks(sequence)) {
      metrics.duplicate();
      return;
    }
    if (phase == Phase.REPLAYING) {
      delivery.hold(decoded, bytes, true);
      if (!verifying) {
        delivery.drain();
      }
      finishIfComplete();
    } else if (phase == Phase.SNAPSHOT) {
      delivery.hold(decoded, bytes, true);
    } else if (delivery.follows(sequence) && decoded.intact()) {
      delivery.pass(decoded, bytes, true);
      finish();
      mendWhenDue();
    } else {
      delivery.hold(decoded, bytes, true);
      gap.open(next());
      if (next() == 0 && replayable) {
        readHistory();
      } else if (replayable) {
        begin(next());
      } else {
        delivery.abandonMissing();
        finish();
      }
    }
  }

  /** Takes the snapshot that was requested. */
  void snapshot(EngineSnapshot snapshot) {
    if (phase != Phase.SNAPSHOT) {
      return;
    }
    long resume = snapshot.resume();
    if (resume <= seenBeforeSnapshot || seen.isOfAnother(snapshot.publisher())) {
      // It is from another process than the messages that were seen: what is known and what is buffered is void.
      metrics.snapshotFailed(true);
      restart();
      replayFromStart();
      return;
    }
    metrics.snapshotRead();
    delivery.snapshot(snapshot);
    seen.snapshot(resume - 1, snapshot.takenAt(), snapshot.publisher());
    gap.mended();
    lacking = false;
    phase = Phase.LIVE;
    delivery.drain();
    if (delivery.holdsNothing()) {
      finish();
    } else {
      begin(next());
    }
  }

  /**
   * Notes that the snapshot that was requested is not to be had.
   *
   * @param known whether the engine may know the request
   */
  void snapshotFailed(boolean known, String why) {
    if (phase != Phase.SNAPSHOT) {
      return;
    }
    metrics.snapshotFailed(known);
    if (!known) {
      snapshots.refused();
    }
    if (requestSnapshot()) {
      return;
    }
    output.deliver(KvBatch.ofStream(new KvEvent.SnapshotFailed(why)), 0, false);
    phase = Phase.LIVE;
    delivery.drain();
    begin(next());
    finishIfComplete();
  }

  /** Whether a replayed message is needed, so that it has to be decoded. */
  boolean needs(long sequence) {
    return verifying || delivery.lacks(sequence);
  }

  /** Takes the number of a replayed message that is not needed: it shows where the engine's buffer begins. */
  void replayedDuplicate(long sequence) {
    if (phase == Phase.REPLAYING && !verifying) {
      rounds.replied();
      requestedAgain(sequence);
    }
  }

  /** Takes a needed message of the replay under way. */
  void replayed(DecodedMessage decoded, int bytes) {
    if (phase != Phase.REPLAYING) {
      return;
    }
    KvBatch batch = decoded.batch();
    long sequence = batch.sequence();
    if (verifying) {
      if (delivery.isLast(batch)) {
        verifying = false;
        rounds.verified();
        delivery.drain();
        finishIfComplete();
      } else {
        restart();
        replayFromStart();
      }
      return;
    }
    if (seen.isReplayedRestart(decoded)) {
      restart();
      replayFromStart();
      return;
    }
    seen.observe(decoded);
    rounds.replied();
    if (requestedAgain(sequence) || !delivery.lacks(sequence)) {
      return;
    }
    if (!delivery.follows(sequence) && full()) {
      rounds.skippedMessage();
      return;
    }
    rounds.progressed();
    if (delivery.holdsNothing() && delivery.follows(sequence) && decoded.intact()) {
      delivery.pass(decoded, bytes, false);
    } else {
      delivery.hold(decoded, bytes, false);
      delivery.drain();
    }
    finishIfComplete();
  }

  /** Notes that the replay under way is over: by its end mark, or because nothing more came. */
  void replayEnded(boolean marked) {
    endRound(marked, true);
  }

  /** Notes that the replay under way did not reach the engine: nothing came, but there may be something. */
  void replayUnreached() {
    endRound(false, false);
  }

  private void endRound(boolean marked, boolean reached) {
    if (phase != Phase.REPLAYING) {
      return;
    }
    if (verifying) {
      if (marked) {
        // The engine has published less than was seen.
        restart();
        replayFromStart();
      } else if (rounds.retrySilence()) {
        round(next() - 1);
      } else {
        verifying = false;
        stayUnverified();
      }
      return;
    }
    if (rounds.needsAnother(reached, marked && delivery.holdsNothing())) {
      round(next());
    } else if (!delivery.holdsNothing()) {
      boolean more = rounds.mayFetchSkipped();
      if (requestSnapshot()) {
        return;
      }
      delivery.abandonMissing();
      if (more) {
        begin(next());
      } else {
        finish();
      }
    } else if (marked || rounds.isExhausted()) {
      finish();
    } else {
      stayUnverified();
    }
  }

  /**
   * Handles the first message of a round. An engine that repeatedly replays from a later number than requested does not
   * keep the earlier ones any more; until that is certain, another round is requested. Returns whether it was.
   */
  private boolean requestedAgain(long sequence) {
    if (!rounds.takeFirst()) {
      return false;
    }
    if (sequence <= next() || delivery.follows(sequence)) {
      rounds.reachedStart();
      return false;
    }
    if (rounds.confirmTruncated()) {
      round(next());
      return true;
    }
    if (requestSnapshot()) {
      return true;
    }
    delivery.abandonBelow(sequence);
    return false;
  }

  private void restart() {
    if (phase == Phase.REPLAYING || phase == Phase.SNAPSHOT) {
      output.endReplay();
    }
    if (!seen.isEmpty() || next() > 0) {
      output.deliver(KvBatch.ofStream(new KvEvent.Restarted()), 0, false);
    }
    if (gap.forget()) {
      metrics.gapEndedByRestart();
    }
    delivery.reset();
    seen.forget();
    interrupted = false;
    lacking = false;
    verifying = false;
    phase = Phase.LIVE;
  }

  private void replayFromStart() {
    gap.open(next());
    readHistory();
  }

  /** Reads all there is, of which nothing is known: a snapshot where there are any, else the replay. */
  private void readHistory() {
    if (!requestSnapshot()) {
      begin(0);
    }
  }

  /** Requests a snapshot if one may be had; returns whether it did. */
  private boolean requestSnapshot() {
    if (!snapshots.take()) {
      return false;
    }
    phase = Phase.SNAPSHOT;
    seenBeforeSnapshot = seen.highest();
    output.snapshot();
    return true;
  }

  private void begin(long from) {
    phase = Phase.REPLAYING;
    rounds.begin();
    round(from);
  }

  private void round(long from) {
    rounds.next();
    metrics.replay();
    output.replay(from);
  }

  private void finishIfComplete() {
    if (phase == Phase.REPLAYING && !verifying && delivery.holdsNothing() && seen.liveAreBelow(next())) {
      finish();
    }
  }

  private void finish() {
    if (gap.isLossy() && requestSnapshot()) {
      return;
    }
    if (phase == Phase.REPLAYING) {
      output.endReplay();
    }
    phase = Phase.LIVE;
    lacking |= gap.isLossy();
    gap.close();
    snapshots.renew();
  }

  /** Asks again, after a while, for a snapshot that could not be had when something was abandoned. */
  private void mendWhenDue() {
    if (lacking && phase == Phase.LIVE && snapshots.isDue()) {
      gap.open(next());
      boolean _ = requestSnapshot();
    }
  }

  /** Ends a replay that brought nothing: buffered messages are delivered, and the next live message decides. */
  private void stayUnverified() {
    output.endReplay();
    phase = Phase.UNVERIFIED;
    if (!delivery.holdsNothing() && !requestSnapshot()) {
      delivery.abandonMissing();
      finish();
    }
  }
}
