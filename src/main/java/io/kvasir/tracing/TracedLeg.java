package io.kvasir.tracing;

import java.net.URI;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What is noted of one request to a worker. Written by the threads that carry it out; its latest state counts. */
public final class TracedLeg {
  static final long NEVER = Long.MIN_VALUE;
  static final int UNKNOWN = -1;

  /** The kind of a leg that is the whole request. */
  public static final String SERVE = "serve";

  /** That of one that is so while another worker is at it. */
  static final String HEDGE = "hedge";

  /** That of one for the rest of an answer that another worker's failure has cut. */
  static final String RESUME = "resume";

  /**
   * Where a leg goes.
   *
   * @param worker its id
   * @param url of its pod
   * @param promised tokens of the prompt that it should have cached
   */
  public record Target(String worker, URI url, int promised) {}

  /**
   * The tokens of a leg as its engine counted them, each below 0 where it has not said.
   *
   * @param delivered those of the prompt that it had cached
   */
  public record Tokens(int prompt, int delivered, int output) {
    static final Tokens NONE = new Tokens(UNKNOWN, UNKNOWN, UNKNOWN);
  }

  private final TraceContext context;
  private final String kind;
  private final Target target;
  private final int tries;
  private final long started;
  private volatile int status = UNKNOWN;
  private volatile long firstToken = NEVER;
  private volatile @Nullable String answerId;
  private volatile List<String> finishReasons = List.of();
  private volatile Tokens tokens = Tokens.NONE;
  private volatile @Nullable String error;
  private volatile long ended = NEVER;

  TracedLeg(TraceContext context, String kind, Target target, int tries, long started) {
    this.context = context;
    this.kind = kind;
    this.target = target;
    this.tries = tries;
    this.started = started;
  }

  /** The context that its worker gets. */
  public TraceContext context() {
    return context;
  }

  /** The head of the response has come. */
  public void responded(int answerStatus) {
    status = answerStatus;
  }

  /** The first token has come. */
  public void firstToken(long nanos) {
    firstToken = nanos;
  }

  /** The response's id is known. */
  public void identified(String id) {
    answerId = id;
  }

  /** The choices of the answer have ended, for these reasons. */
  public void finished(List<String> reasons) {
    finishReasons = List.copyOf(reasons);
  }

  /**
   * The leg is over.
   *
   * @param failure the kind of failure, null for none
   */
  public void ended(Tokens counted, @Nullable String failure, long nanos) {
    tokens = counted;
    error = failure;
    ended = nanos;
  }

  String kind() {
    return kind;
  }

  Target target() {
    return target;
  }

  int tries() {
    return tries;
  }

  long startNanos() {
    return started;
  }

  int status() {
    return status;
  }

  long firstTokenNanos() {
    return firstToken;
  }

  @Nullable String answerId() {
    return answerId;
  }

  List<String> finishReasons() {
    return finishReasons;
  }

  Tokens tokens() {
    return tokens;
  }

  @Nullable String error() {
    return error;
  }

  boolean isOpen() {
    return ended == NEVER;
  }

  long endNanos() {
    return ended;
  }
}
