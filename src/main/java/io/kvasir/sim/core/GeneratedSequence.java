package io.kvasir.sim.core;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.enginemodel.KeyChain;
import io.kvasir.enginemodel.Sequence;
import io.kvasir.sim.text.PlannedAnswer;
import io.kvasir.sim.text.SyntheticText;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One sequence being generated. The engine's thread writes it, token by token; the request's thread waits
 * for it and reads what has been delivered.
 */
public final class GeneratedSequence extends Sequence {
  /** Why an answer ended. */
  public enum FinishReason {
    STOP,
    LENGTH,
    ABORT
  }

  /**
   * The length of the output.
   *
   * @param maxTokens tokens after which the answer is cut; 0 to read the prompt only
   * @param minTokens tokens before which it does not end by itself
   * @param ignoreEos never ends by itself
   * @param stops what else ends it
   */
  public record SamplingParams(int maxTokens, int minTokens, boolean ignoreEos, StopConditions stops) {
    /** Reads the prompt and generates nothing. */
    static final SamplingParams NOTHING = new SamplingParams(0, 0, false, StopConditions.NONE);
  }

  /** Copies what another engine computed; called on the engine's thread, which it must not hold up. */
  interface Loader {
    /** Copies all but the first {@code from} tokens and reports the outcome to the engine. */
    void load(GeneratedSequence generation, int from);
  }

  private final int[] prompt;
  private final KeyChain keys;
  private SyntheticText.Writer writer;
  private final int eos;
  private final SamplingParams sampling;
  private final StopConditions.Watch stops;
  private final boolean notifyEachToken;
  final @Nullable String lora;
  final @Nullable String salt;
  final long arrivalNanos = System.nanoTime();

  private int remoteTokens;
  private @Nullable Loader loader;
  private boolean retainsBlocks;
  private boolean retainsOnStop;
  private @Nullable String session;
  private boolean computesAll;
  private int[] firstTokens = {};
  private volatile @Nullable PlannedAnswer planned;
  private volatile int @Nullable [] keptBlocks;
  private volatile @Nullable String error;
  private volatile int[] output;
  private int count;
  private @Nullable FinishReason ended;
  private volatile int delivered;
  private volatile @Nullable FinishReason finish;
  private volatile @Nullable Thread reader;

  /**
   * An answer to {@code prompt}.
   *
   * @param keys an empty chain in the engine's and the request's namespace
   * @param eachToken whether the reader is woken for every token, or only at the end
   */
  GeneratedSequence(
      int[] prompt,
      KeyChain keys,
      SyntheticText.Writer writer,
      int eos,
      SamplingParams extent,
      boolean eachToken,
      @Nullable String lora,
      @Nullable String salt) {
    super(prompt.length);
    this.prompt = prompt;
    this.keys = keys;
    this.writer = writer;
    this.eos = eos;
    this.sampling = extent;
    this.stops = StopConditions.Watch.over(extent.stops());
    this.notifyEachToken = eachToken;
    this.lora = lora;
    this.salt = salt;
    this.output = new int[Math.min(extent.maxTokens(), 64)];
    keys.append(prompt, 0, prompt.length);
  }

  /** Before it is submitted: its first {@code tokens} are to be copied by {@code from} and not computed. */
  void copyPrefix(int tokens, Loader from) {
    remoteTokens = Math.min(tokens, prompt.length);
    loader = from;
  }

  /** Before it is submitted: its blocks stay held after its end, also when that was a stop and not a limit. */
  void retainBlocks(boolean onStop) {
    retainsBlocks = true;
    retainsOnStop = onStop;
  }

  /** Before it is submitted: a session keeps its blocks after its end. */
  void keepFor(@Nullable String its) {
    session = its;
  }

  /** Before it is submitted: what it is to generate; null for text. */
  void plan(@Nullable PlannedAnswer answer) {
    planned = answer;
  }

  /** Before it is submitted: nothing of it is taken from the cache, for something is asked of each of its tokens. */
  void computeAll() {
    computesAll = true;
  }

  @Override
  protected boolean findsPrefix() {
    return !computesAll;
  }

  @Override
  protected @Nullable String session() {
    return session;
  }

  @Override
  protected long key(int block) {
    return keys.key(block);
  }

  @Override
  protected int remoteTokens() {
    return remoteTokens;
  }

  @Override
  protected void load(int from) {
    if (loader != null) {
      loader.load(this, from);
    }
  }

  @Override
  protected boolean keepsBlocks() {
    return retainsBlocks && (ended == FinishReason.LENGTH || (ended == FinishReason.STOP && retainsOnStop));
  }

  /**
   * Engine's thread: what was to be copied has come. The answer follows from what was copied: when that are another
   * prompt's keys and values, so is the answer.
   */
  void onCopied(int[] copied, int[] generated, SyntheticText prose, int variant) {
    firstTokens = generated;
    if (!Arrays.equals(copied, 0, Math.min(copied.length, remoteTokens), prompt, 0,
        Math.min(copied.length, remoteTokens))) {
      int[] mixed = prompt.clone();
      System.arraycopy(copied, 0, mixed, 0, Math.min(copied.length, remoteTokens));
      planned = null;
      writer = prose.writerAfter(mixed, variant);
    }
  }

  /** Engine's thread: nothing is to be copied any more. */
  void clearRemoteTokens() {
    remoteTokens = 0;
  }

  @Override
  protected boolean sample() {
    if (sampling.maxTokens() == 0) {
      ended = FinishReason.STOP;
      return true;
    }
    int token = next();
    if (count == output.length) {
      output = Arrays.copyOf(output, Math.min(sampling.maxTokens(), count * 2));
    }
    output[count++] = token;
    keys.append(token);
    grow();
    if ((token == eos && !sampling.ignoreEos())
        || (stops.isNeeded() && stops.stops(token, text(count - 1), count, sampling.minTokens()))) {
      ended = FinishReason.STOP;
    } else if (count == sampling.maxTokens()) {
      ended = FinishReason.LENGTH;
    }
    if (ended != null && keepsBlocks()) {
      keptBlocks = blocksHeld();
    }
    return ended != null;
  }

  private int next() {
    PlannedAnswer plan = planned;
    if (count < firstTokens.length) {
      int copied = firstTokens[count];
      writer.append(copied);
      if (plan != null && copied != plan.token(count, eos)) {
        planned = null;
      }
      return copied;
    }
    if (plan != null) {
      return plan.token(count, eos);
    }
    return writer.next(!sampling.ignoreEos() && count >= sampling.minTokens());
  }

  /** Engine's thread: shows the reader what has been sampled. Returns whether it was the first. */
  boolean deliver() {
    boolean first = delivered == 0 && (count > 0 || ended != null) && finish == null;
    delivered = count;
    finish = ended;
    if (notifyEachToken || ended != null) {
      LockSupport.unpark(reader);
    }
    return first;
  }

  /** Engine's thread: there will be no more. */
  void abort() {
    ended = FinishReason.ABORT;
    deliver();
  }

  /** Engine's thread: there will be no more, because of {@code why}. */
  void fail(String why) {
    error = why;
    abort();
  }

  /** Why it failed; null when it did not. Read after {@link #finish}. */
  @Nullable String error() {
    return error;
  }

  /** The ids of the blocks that stay held after its end; null when none do. */
  int @Nullable [] keptBlocks() {
    return keptBlocks;
  }

  /** The keys of full blocks {@code from} to {@code to}. */
  long[] keys(int from, int to) {
    long[] range = new long[to - from];
    for (int i = from; i < to; i++) {
      range[i - from] = keys.key(i);
    }
    return range;
  }

  /** Tokens {@code from} to {@code to} of prompt and answer. */
  int[] tokens(int from, int to) {
    int[] range = new int[to - from];
    int fromPrompt = Math.clamp(prompt.length - from, 0, range.length);
    if (fromPrompt > 0) {
      System.arraycopy(prompt, from, range, 0, fromPrompt);
    }
    int[] answer = output;
    for (int i = fromPrompt; i < range.length; i++) {
      range[i] = answer[from + i - prompt.length];
    }
    return range;
  }

  int[] prompt() {
    return prompt;
  }

  /** Names the thread that is woken when there is something new. */
  void setReader(Thread thread) {
    reader = thread;
  }

  /** How many tokens of the answer may be read. */
  int delivered() {
    return delivered;
  }

  /** A delivered token. */
  int token(int position) {
    return output[position];
  }

  /** What a delivered token adds to the text. */
  String text(int position) {
    PlannedAnswer plan = planned;
    return plan == null ? writer.text(output[position]) : plan.text(position);
  }

  /** What it generates, when that is more than text. */
  @Nullable PlannedAnswer planned() {
    return planned;
  }

  StopConditions stopConditions() {
    return sampling.stops();
  }

  /** Characters of the answer that are its text. Read after {@link #finish}. */
  int textEnd() {
    return stops.end();
  }

  /** The stop string or token that ended it, or null. Read after {@link #finish}. */
  JsonNode stopReason() {
    return stops.reason();
  }

  /** Why it ended; null while it goes on. Read before {@link #delivered}, which is then final. */
  @Nullable FinishReason finish() {
    return finish;
  }
}
