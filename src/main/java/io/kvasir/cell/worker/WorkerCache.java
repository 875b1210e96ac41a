package io.kvasir.cell.worker;

import io.kvasir.cell.CellSettings.PredictionSettings;
import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.events.CacheGroups;
import io.kvasir.cell.events.ChunkHints;
import io.kvasir.cell.events.EventState;
import io.kvasir.index.Chain;
import io.kvasir.index.Prediction;
import io.kvasir.index.WorkerBlocks;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Worker;
import io.kvasir.time.NanoClock;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a worker's engine holds, as its events have told: the blocks of the index, the other groups of a hybrid model, a
 * cache beside the engine. And what it will hold, since it has been sent it. Thread-safe.
 */
public final class WorkerCache {
  private static final long NEVER = Long.MAX_VALUE;

  private final Supplier<Worker> worker;
  private final Supplier<PodSpec> pod;
  private final Supplier<LearntEngine> learnt;
  private final WorkerLoad load;
  private final PredictionSettings prediction;
  private final NanoClock clock;
  private final ChangeCounter changes;
  private final LastBlock lastBlock;
  private volatile WorkerBlocks blocks;
  private volatile EventState events = EventState.START;
  private volatile @Nullable ChunkHints hints;
  private volatile @Nullable CacheGroups groups;

  /**
   * That of a worker of which nothing has been told.
   *
   * @param worker as it is described now, and {@code pod} its pod
   * @param learnt what is known of its engine otherwise
   * @param load what is booked on it: how long what it has been sent may take to come
   */
  WorkerCache(
      Supplier<Worker> worker,
      Supplier<PodSpec> pod,
      Supplier<LearntEngine> learnt,
      WorkerLoad load,
      WorkerBlocks blocks,
      PredictionSettings prediction,
      NanoClock clock,
      ChangeCounter revision) {
    this.worker = worker;
    this.pod = pod;
    this.learnt = learnt;
    this.load = load;
    this.blocks = blocks;
    this.prediction = prediction;
    this.clock = clock;
    this.changes = revision;
    this.lastBlock = new LastBlock(revision);
  }

  /** The blocks that it holds, as the index knows. */
  public WorkerBlocks blocks() {
    return blocks;
  }

  /** They are in another index from now on. Called by the cell's actor alone. */
  public void moveTo(WorkerBlocks successor) {
    blocks = successor;
  }

  /** How far its events have come. */
  public EventState events() {
    return events;
  }

  /** Its events have come further. */
  public void events(EventState state) {
    boolean wasCut = isCut();
    events = state;
    if (isCut() != wasCut) {
      changes.increment();
    }
  }

  /** Whether its engine's blocks are as they are, though some that prompts are cut into would make one of them. */
  public boolean isUncut(int promptBlock) {
    EventState now = events;
    return promptBlock > 0 && now.parts() == 1 && now.blockSize() > promptBlock && now.blockSize() % promptBlock == 0;
  }

  /** Whether its engine's events will tell what becomes of what it is sent: the first of them may be yet to come. */
  public boolean confirmsPredictions() {
    EventState now = events;
    return now.connected() && !now.suspect();
  }

  /**
   * Whether its engine shares a prompt's blocks with others only once it has computed them: its events show it, or it
   * is known of engines of its kind.
   */
  public boolean sharesOnceComputed() {
    return events.onceComputed() || pod.get().sharesOnceComputed() || learnt.get().sharesOnceComputed();
  }

  /** What a cache beside its engine may hold, null when nothing is known of one. */
  public @Nullable ChunkHints hints() {
    return hints;
  }

  /** What a cache beside its engine may hold is another thing now. */
  public void hints(@Nullable ChunkHints known) {
    hints = known;
  }

  /** What the other groups of a hybrid model's engine hold, null where there are none. */
  public @Nullable CacheGroups groups() {
    return groups;
  }

  /** Whether it may go on from less than the index has for it. */
  public boolean isLimited() {
    return groups != null || lastBlock.isRecomputed() || isCut();
  }

  /** Whether its engine's blocks are cut; before its first event they may be. */
  private boolean isCut() {
    EventState now = events;
    return now.parts() > 1 || (now.blockSize() == 0 && !pod.get().events().isEmpty());
  }

  /** Whether it is an engine of a hybrid model. */
  boolean isHybrid() {
    CacheGroups known = groups;
    return known != null && known.isHybrid();
  }

  /** What a draft model makes of its engine's cache. */
  WorkerStatus.Speculation speculation() {
    CacheGroups known = groups;
    return known != null && known.sharesByLookahead()
        ? WorkerStatus.Speculation.LOOKAHEAD
        : lastBlock.isRecomputed() ? WorkerStatus.Speculation.RECOMPUTES_LAST_BLOCK : WorkerStatus.Speculation.NONE;
  }

  /** Whether its engine computes the last block of what it holds of a prompt again. */
  LastBlock lastBlock() {
    return lastBlock;
  }

  /** Its engine's other groups are these from now on. */
  @SuppressWarnings("ReferenceEquality") // of one engine's time they are the same, and grow
  public void groups(@Nullable CacheGroups known) {
    if (groups != known) {
      groups = known;
      changes.increment();
    }
  }

  /**
   * The longest beginning of a prompt from whose end its engine can go on, in blocks: less than it holds where a hybrid
   * model's other groups lack what they need there, where it shares blocks only among prompts that go on alike, and
   * where it computes the last one again.
   *
   * @param depth leading blocks of it that the index has for the worker
   */
  public int resumable(Chain chain, int depth) {
    CacheGroups known = groups;
    int most = recomputation(chain).of(depth);
    return known == null || most == 0 ? most : known.resumable(chain, most, reported(known, chain, depth));
  }

  /** As {@link #resumable}, by what its engine itself has reported: {@code depth} leading blocks, and their groups. */
  public int confirmed(Chain chain, int depth) {
    CacheGroups known = groups;
    int most = recomputation(chain).of(depth);
    return known == null ? most : known.confirmed(chain, most, depth);
  }

  private Recomputation recomputation(Chain chain) {
    int parts = parts(chain);
    return lastBlock.isRecomputed()
        ? Recomputation.ofLastBlock(chain, isHybrid(), parts)
        : Recomputation.ofParts(chain, parts);
  }

  /** Blocks of a prompt in one of its engine's: before the first event as the engine says, or its pod is described. */
  private int parts(Chain chain) {
    EventState now = events;
    if (now.blockSize() != 0) {
      return now.parts() > 1 && reports(chain) ? now.parts() : 1;
    }
    int size = blockSizeBeforeEvents();
    return chain.lookahead() != null && size % chain.blockSize() == 0 ? size / chain.blockSize() : 1;
  }

  /** Tokens in one of its engine's blocks, while no event has told. */
  private int blockSizeBeforeEvents() {
    int size = learnt.get().blockSize();
    return size == 0 ? pod.get().engine().blockSize() : size;
  }

  /** Of the blocks that it holds, those that events have confirmed; waits for a write in progress if it matters. */
  private int reported(CacheGroups known, Chain chain, int depth) {
    return known.isSparse() || blocks.predicted() == 0 ? depth : blocks.reported(chain.hashes());
  }

  /**
   * Predicts that the worker will have a prompt that has just been booked on it. Never waits.
   *
   * @param depth leading blocks of it the worker was found to hold
   * @param tokens of the prompt
   */
  public HitPrediction predict(Chain chain, int depth, int tokens) {
    boolean reported = reports(chain);
    boolean nothing = chain.length() == 0 || (reported && depth == chain.length() && blocks.predicted() == 0);
    long expiry = reported ? expiry() : NEVER;
    Prediction prediction = nothing ? null : blocks.predict(chain.hashes(), expiry);
    CacheGroups known = reported ? groups : null;
    return new HitPrediction(
        chain.blockSize(),
        depth,
        reported,
        recomputation(chain),
        prediction,
        known == null || prediction == null ? null : inGroups(known, chain, depth, tokens, prediction, expiry),
        HitPrediction.hinted(hints, chain),
        events);
  }

  private HitPrediction.InGroups inGroups(
      CacheGroups known, Chain chain, int depth, int tokens, Prediction prediction, long expiry) {
    int shared = prediction.held();
    int found = shared > depth ? Math.max(depth, resumable(chain, shared)) : depth;
    List<CacheGroups.PredictedEnd> ends = new ArrayList<>(2);
    // The last token of a prompt is computed in any case.
    int end = Math.min(chain.length(), (tokens - 1) / chain.blockSize());
    int reported = reported(known, chain, depth);
    // What is there already is evicted as events say.
    boolean there = end <= depth && known.confirmed(chain, end, Math.min(end, reported)) == end;
    if (end > 0 && !there) {
      ends.add(known.predict(chain, end, expiry));
    }
    if (shared > depth && shared < end) {
      ends.add(known.predict(chain, shared, expiry));
    }
    return new HitPrediction.InGroups(known.confirmed(chain, depth, reported), found, ends);
  }

  /** Leading blocks of a prompt that its engine has reported, and can go on from. */
  public int reported(Chain chain) {
    return confirmed(chain, blocks.reported(chain.hashes()));
  }

  /** What its engine has reported to hold of a prompt, and nothing that it will have. */
  public HitPrediction held(Chain chain) {
    return new HitPrediction(
        chain.blockSize(), reported(chain), reports(chain), recomputation(chain), null, null,
        HitPrediction.hinted(hints, chain), events);
  }

  /** Predicts the same of a prompt that another worker has handed over to it, if it keeps such. */
  public void predictTransferred(Chain chain, int depth, int tokens) {
    KvTransfer transfer = worker.get().kvTransfer();
    if (reports(chain) || (transfer != null && transfer.dialect().keepsTransferredBlocks())) {
      predict(chain, depth, tokens);
    }
  }

  /** Whether its engine reports such blocks: others are only predicted. */
  private boolean reports(Chain chain) {
    EventState now = events;
    int size = now.blockSize() == 0 ? blockSizeBeforeEvents() : now.blockSize();
    return !pod.get().events().isEmpty() && chain.blockSize() * now.parts() == size;
  }

  private long expiry() {
    long nanosUntil = (long) (load.queueMs() * 1e6 * prediction.factor());
    return clock.nanos() + Math.clamp(nanosUntil, prediction.min().toNanos(), prediction.max().toNanos());
  }

  /** Forgets predictions whose time is over. */
  public void expire(long now) {
    blocks.expire(now);
    CacheGroups known = groups;
    if (known != null) {
      known.expire(now);
    }
  }
}
