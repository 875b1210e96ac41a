package io.kvasir.events;

import java.util.Map;
import java.util.TreeMap;

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
  /** Rounds that bring nothing new before the engine is taken at its word. */
  static final int TRIES = 3;

  /** Out-of-order messages held, in messages and bytes; past that live reading pauses and replays skip. */
  static final int MAX_AHEAD = 4096;

  private static final long MAX_AHEAD_BYTES = 32L << 20;
  private static final int MAX_ROUNDS = 1000;

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

  private record Held(Decoded decoded, int bytes, boolean live) {}

  private final Link link;
  private final EventMetrics.OfSource metrics;
  private final boolean replayable;
  private final boolean fromOne;

  private Phase phase = Phase.LIVE;
  private final TreeMap<Long, Held> ahead = new TreeMap<>();
  private long aheadBytes;

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

  // The replay under way.
  private boolean verifying;
  private boolean heard;
  private boolean fresh;
  private boolean skipped;
  private boolean atFirst;
  private int rounds;
  private int fruitless;
  private int beyond;

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
    return ahead.size() >= MAX_AHEAD || aheadBytes >= MAX_AHEAD_BYTES;
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
      dropAhead();
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
      hold(decoded, bytes, true);
      drain();
      finishIfComplete();
    } else if (follows(sequence) && decoded.intact()) {
      pass(decoded, bytes, true);
      finish();
    } else {
      hold(decoded, bytes, true);
      openGap();
      if (replayable) {
        begin(next);
      } else {
        giveUpTo(ahead.lastKey() + 1);
        finish();
      }
    }
  }

  /** Whether a replayed message is worth decoding. */
  boolean wants(long sequence) {
    return verifying || isNews(sequence);
  }

  private boolean isNews(long sequence) {
    Held held = ahead.get(sequence);
    return sequence >= next && (held == null || !held.decoded.intact());
  }

  /** A message of the replay under way that is not wanted: tells where the engine's buffer begins all the same. */
  void replayedAgain(long sequence) {
    if (phase == Phase.REPLAYING && !verifying) {
      heard = true;
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
        heard = true;
        fresh = true;
        atFirst = false;
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
    heard = true;
    if (askedAgain(sequence) || !isNews(sequence)) {
      return;
    }
    if (!follows(sequence) && full()) {
      skipped = true;
      return;
    }
    fresh = true;
    fruitless = 0;
    if (ahead.isEmpty() && follows(sequence) && decoded.intact()) {
      pass(decoded, bytes, false);
    } else {
      hold(decoded, bytes, false);
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
      } else if (++fruitless < TRIES) {
        round(next - 1);
      } else {
        verifying = false;
        unproven();
      }
      return;
    }
    if (fresh) {
      fruitless = 0;
    } else {
      fruitless++;
    }
    boolean settled = marked && ahead.isEmpty();
    if (rounds < MAX_ROUNDS && (fresh || (fruitless < TRIES && !settled))) {
      round(next);
    } else if (!ahead.isEmpty()) {
      boolean more = skipped && rounds < MAX_ROUNDS;
      giveUpTo(ahead.lastKey() + 1);
      if (more) {
        begin(next);
      } else {
        finish();
      }
    } else if (marked || heard) {
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
    if (!atFirst) {
      return false;
    }
    atFirst = false;
    if (sequence <= next || follows(sequence)) {
      beyond = 0;
      return false;
    }
    if (++beyond < TRIES) {
      round(next);
      return true;
    }
    beyond = 0;
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
    dropAhead();
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
    rounds = 0;
    fruitless = 0;
    heard = false;
    beyond = 0;
    round(from);
  }

  private void round(long from) {
    rounds++;
    fresh = false;
    skipped = false;
    atFirst = true;
    metrics.replay();
    link.replay(from);
  }

  private void hold(Decoded decoded, int bytes, boolean live) {
    Held before = ahead.put(decoded.batch().sequence(), new Held(decoded, bytes, live));
    aheadBytes += bytes - (before == null ? 0 : before.bytes);
  }

  /** Delivers what is held and in order; a damaged live message waits for the replay's copy. */
  private void drain() {
    while (!verifying && !ahead.isEmpty() && follows(ahead.firstKey())) {
      Held first = ahead.firstEntry().getValue();
      if (!first.decoded.intact() && first.live) {
        return;
      }
      passFirst();
    }
  }

  private void dropAhead() {
    ahead.clear();
    aheadBytes = 0;
  }

  private void passFirst() {
    Map.Entry<Long, Held> entry = ahead.pollFirstEntry();
    Held held = entry.getValue();
    aheadBytes -= held.bytes;
    pass(held.decoded, held.bytes, held.live);
    if (!held.decoded.intact()) {
      abandon(entry.getKey(), entry.getKey());
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
      long first = ahead.isEmpty() ? limit : Math.min(limit, ahead.firstKey());
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
      giveUpTo(ahead.lastKey() + 1);
      finish();
    }
  }

  private void say(KvEvent event) {
    link.deliver(KvBatch.ofStream(event), 0, false);
  }
}
