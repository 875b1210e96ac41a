package io.kvasir.events;

/**
 * Makes one stream, in order and without duplicates, of what a lossy publisher sends live and what its
 * lossy replay sends again; notices gaps and restarts. Knows no transport and no clock: it is told what
 * arrived and asks for replays through {@link Link}. One thread at a time.
 *
 * <p>Messages carry numbers from 0 and the time of their publishing. A number that goes back is a
 * duplicate or a new process: what has been published later than anything seen comes from a new process.
 * A connection that was lost and made again may lead to a new process that has already caught up with the
 * old numbers, so before anything more is delivered the replay must show the last message again, with its time;
 * any other answer means another history.
 *
 * <p>A replay may itself lose messages, also the mark at its end. So what it brings is put in order with
 * what came live meanwhile, and the first missing number is asked for again, until nothing is missing or
 * several rounds brought nothing new. Two things end it early: a live message to which everything is
 * complete (nothing can be missing), and an engine that keeps answering from a later number on than asked for
 * (its buffer does not reach back that far). Messages that cannot be read count as missing, since a replay may bring
 * them whole.
 */
final class Sequencer {
  /** What the sequencer acts through. */
  interface Link {
    /** Hands a batch on; {@code live} unless it was replayed or is the stream's own. */
    void deliver(KvBatch batch, int bytes, boolean live);

    /** Begins a new round of replay, ending the one that may be under way. */
    void replay(long from);

    /** Ends the replay that may be under way. */
    void endReplay();
  }

  private enum Phase {
    /** Everything up to {@link #next} was delivered, or is known to be lost. */
    LIVE,
    /** Something may be missing and a replay is under way. */
    REPLAYING,
    /** Something may be missing and there is no replay to ask: the next live message decides. */
    UNPROVEN
  }

  private final Link link;
  private final EventMetrics.OfSource metrics;
  private final boolean replayable;
  private final boolean fromOne;

  private Phase phase = Phase.LIVE;
  private final HeldMessages ahead = new HeldMessages();

  /** The number to deliver next, and when the one before it was published (0: unknown). */
  private long next;

  private long lastPublished;

  /** Highest number seen, the latest publishing seen, and the highest live number on this connection. */
  private long top = -1;

  private long topPublished;
  private long topLive = -1;

  /** A gap was announced and not closed, and whether some of it was abandoned. */
  private boolean open;

  private boolean lossy;

  /** A connection was lost while its replay was under way: what was delivered may mix two histories. */
  private boolean interrupted;

  /** The replay under way is to show the last message again before anything more is delivered. */
  private boolean verifying;

  private final ReplayRounds rounds = new ReplayRounds();

  /**
   * Begins before the first message.
   *
   * @param replayable whether the engine can be asked for a replay
   * @param fromOne whether its numbers may begin at 1 as well as at 0
   */
  Sequencer(Link link, boolean replayable, boolean fromOne, EventMetrics.OfSource metrics) {
    this.link = link;
    this.replayable = replayable;
    this.fromOne = fromOne;
    this.metrics = metrics;
  }

  /** Before the first message: everything up to this one has been delivered by another. */
  void goOnAfter(StreamPosition last) {
    next = last.sequence() + 1;
    lastPublished = last.publishedAt();
    top = last.sequence();
    topPublished = last.publishedAt();
  }

  /** Whether no more live messages should be read for now. */
  boolean full() {
    return ahead.full();
  }

  /** The transport was connected, or engines may now dial in: find out what was missed. */
  void connected() {
    if (interrupted) {
      restart();
    }
    topLive = -1;
    openGap();
    if (!replayable) {
      phase = Phase.UNPROVEN;
    } else if (next == 0) {
      // What was read of the connection before cannot be held against anything: it may be another process's.
      ahead.clear();
      top = -1;
      topPublished = 0;
      begin(0);
    } else {
      verifying = true;
      begin(next - 1);
    }
  }

  /** The number expected next: what a transport that keeps its history is asked from. */
  long next() {
    return next;
  }

  /** The transport knows that the engine, or the history it keeps of it, began anew. */
  void beganAnew() {
    restart();
  }

  /** The transport knows that everything it has of the engine was delivered: nothing is missing but what was lost. */
  void caughtUp() {
    if (phase == Phase.UNPROVEN) {
      finish();
    }
  }

  /** The transport was disconnected. */
  void disconnected() {
    if (phase == Phase.REPLAYING) {
      link.endReplay();
      interrupted = true;
      verifying = false;
      phase = Phase.UNPROVEN;
    }
  }

  /** A live message. */
  void live(Decoded decoded, int bytes) {
    KvBatch batch = decoded.batch();
    long sequence = batch.sequence();
    if (interrupted) {
      // Left over from the connection that was lost. The replay on the next one brings it, if it still is true.
      return;
    }
    if (isAnew(sequence, batch.publishedAt())) {
      restart();
    }
    topLive = Math.max(topLive, sequence);
    see(decoded);
    if (!isNews(sequence)) {
      metrics.duplicate();
      return;
    }
    if (phase == Phase.REPLAYING) {
      ahead.hold(decoded, bytes, true);
      drain();
      finishIfComplete();
    } else if (follows(sequence) && decoded.intact()) {
      pass(decoded, bytes, true);
      finish();
    } else {
      ahead.hold(decoded, bytes, true);
      openGap();
      if (replayable) {
        begin(next);
      } else {
        giveUpTo(ahead.last() + 1);
        finish();
      }
    }
  }

  /** Whether a replayed message is worth decoding. */
  boolean wants(long sequence) {
    return verifying || isNews(sequence);
  }

  private boolean isNews(long sequence) {
    return sequence >= next && ahead.lacks(sequence);
  }

  /** A message of the replay under way that is not wanted: tells where the engine's buffer begins all the same. */
  void replayedAgain(long sequence) {
    if (phase == Phase.REPLAYING && !verifying) {
      rounds.hears();
      askedAgain(sequence);
    }
  }

  /** A wanted message of the replay under way. */
  void replayed(Decoded decoded, int bytes) {
    if (phase != Phase.REPLAYING) {
      return;
    }
    KvBatch batch = decoded.batch();
    long sequence = batch.sequence();
    if (verifying) {
      if (sequence == next - 1 && batch.publishedAt() == lastPublished) {
        verifying = false;
        rounds.verified();
        drain();
        finishIfComplete();
      } else {
        restart();
        replayFromStart();
      }
      return;
    }
    if (sequence <= top && topPublished != 0 && batch.publishedAt() > topPublished) {
      restart();
      replayFromStart();
      return;
    }
    see(decoded);
    rounds.hears();
    if (askedAgain(sequence) || !isNews(sequence)) {
      return;
    }
    if (!follows(sequence) && full()) {
      rounds.skips();
      return;
    }
    rounds.brings();
    if (ahead.isEmpty() && follows(sequence) && decoded.intact()) {
      pass(decoded, bytes, false);
    } else {
      ahead.hold(decoded, bytes, false);
      drain();
    }
    finishIfComplete();
  }

  /** The replay under way is over: by its end mark, or because nothing more came. */
  void replayEnded(boolean marked) {
    if (phase != Phase.REPLAYING) {
      return;
    }
    if (verifying) {
      if (marked) {
        // The engine has published less than we have seen.
        restart();
        replayFromStart();
      } else if (rounds.doubtsSilence()) {
        round(next - 1);
      } else {
        verifying = false;
        unproven();
      }
      return;
    }
    if (rounds.another(marked && ahead.isEmpty())) {
      round(next);
    } else if (!ahead.isEmpty()) {
      boolean more = rounds.mayFetchSkipped();
      giveUpTo(ahead.last() + 1);
      if (more) {
        begin(next);
      } else {
        finish();
      }
    } else if (marked || rounds.heard()) {
      finish();
    } else {
      unproven();
    }
  }

  /**
   * An engine that keeps answering from a later number on does not have the earlier ones any more. Until that is
   * sure it is asked again, and what else this round would bring is left for the next. Returns whether it was.
   */
  private boolean askedAgain(long sequence) {
    if (!rounds.takeFirst()) {
      return false;
    }
    if (sequence <= next || follows(sequence)) {
      rounds.reachesBack();
      return false;
    }
    if (rounds.doubtsBeyond()) {
      round(next);
      return true;
    }
    giveUpTo(sequence);
    return false;
  }

  private boolean isAnew(long sequence, long publishedAt) {
    if (sequence > top) {
      return false;
    }
    if (publishedAt != 0 && topPublished != 0) {
      return publishedAt > topPublished;
    }
    return sequence < topLive;
  }

  /** A damaged message proves nothing: its whole copy will look younger than it. */
  private void see(Decoded decoded) {
    if (decoded.intact()) {
      top = Math.max(top, decoded.batch().sequence());
      topPublished = Math.max(topPublished, decoded.batch().publishedAt());
    }
  }

  private boolean follows(long sequence) {
    return sequence == next || (fromOne && next == 0 && sequence == 1);
  }

  private void restart() {
    if (phase == Phase.REPLAYING) {
      link.endReplay();
    }
    if (top >= 0 || next > 0) {
      say(new KvEvent.Restarted());
    }
    ahead.clear();
    next = 0;
    lastPublished = 0;
    top = -1;
    topPublished = 0;
    topLive = -1;
    open = false;
    lossy = false;
    interrupted = false;
    verifying = false;
    phase = Phase.LIVE;
  }

  private void replayFromStart() {
    openGap();
    begin(0);
  }

  private void begin(long from) {
    phase = Phase.REPLAYING;
    rounds.begin();
    round(from);
  }

  private void round(long from) {
    rounds.next();
    metrics.replay();
    link.replay(from);
  }

  /** Delivers what is held and in order; a damaged live message waits for the replay's copy. */
  private void drain() {
    while (!verifying && !ahead.isEmpty() && follows(ahead.first())) {
      if (ahead.firstMayMend()) {
        return;
      }
      passFirst();
    }
  }

  private void passFirst() {
    HeldMessages.Held held = ahead.take();
    pass(held.decoded(), held.bytes(), held.live());
    if (!held.decoded().intact()) {
      long sequence = held.decoded().batch().sequence();
      abandon(sequence, sequence);
    }
  }

  private void pass(Decoded decoded, int bytes, boolean live) {
    KvBatch batch = decoded.batch();
    next = batch.sequence() + 1;
    lastPublished = batch.publishedAt();
    link.deliver(batch, bytes, live);
  }

  /** Delivers everything held below {@code limit} in order and says of what is not there that it is lost. */
  private void giveUpTo(long limit) {
    while (next < limit) {
      long first = ahead.isEmpty() ? limit : Math.min(limit, ahead.first());
      if (first > next && !(first < limit && follows(first))) {
        abandon(next, first - 1);
        next = first;
        lastPublished = 0;
      }
      if (first < limit) {
        passFirst();
      }
    }
    drain();
  }

  private void abandon(long from, long to) {
    lossy = true;
    say(new KvEvent.GapAbandoned(from, to));
  }

  private void openGap() {
    if (!open) {
      open = true;
      lossy = false;
      say(new KvEvent.Gap(next));
    }
  }

  private void finishIfComplete() {
    if (phase == Phase.REPLAYING && !verifying && ahead.isEmpty() && topLive >= 0 && next > topLive) {
      finish();
    }
  }

  private void finish() {
    if (phase == Phase.REPLAYING) {
      link.endReplay();
    }
    phase = Phase.LIVE;
    if (open) {
      open = false;
      if (!lossy) {
        say(new KvEvent.GapClosed());
      }
    }
  }

  /** Nothing answers: what is held is judged by itself, and then by the next live message. */
  private void unproven() {
    link.endReplay();
    phase = Phase.UNPROVEN;
    if (!ahead.isEmpty()) {
      giveUpTo(ahead.last() + 1);
      finish();
    }
  }

  private void say(KvEvent event) {
    link.deliver(KvBatch.ofStream(event), 0, false);
  }
}
