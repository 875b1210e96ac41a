package io.kvasir.programs;

/** What is known of one program. Times are milliseconds of the guard's clock. Not thread-safe. */
final class Program {
  /** The part of a difference by which one shorter context shortens what is counted. */
  private static final int SHORTER_COUNTS = 8;

  /** Whether it may send turns. */
  enum State {
    /** It has not been let in yet. */
    NEW,
    /** Its turns go at once, and its blocks are counted. */
    LIVE,
    /** It was live. Its blocks are not counted, and its next turn waits while there is no room. */
    PAUSED
  }

  private final String name;
  private final String tenant;
  private final int weight;
  private State state = State.NEW;
  private int running;

  /** Whether it was let in for a turn that has not gone yet, as something else may hold that. */
  private boolean expected;

  private boolean last;
  private long turns;
  private long activeMs;
  private long gapsMs;
  private long gaps;
  private long returnedTokens;
  private long heldTokens;

  /** Leading tokens that others had brought before its first turn: they count as theirs. */
  private int sharedTokens;

  private int contextTokens;

  /** A program whose first turn is {@code first}. */
  Program(ProgramTurn first) {
    this.name = first.program();
    this.tenant = first.tenant();
    this.weight = first.weight();
    this.sharedTokens = first.heldTokens();
  }

  String name() {
    return name;
  }

  /** Whose program it is. */
  String tenant() {
    return tenant;
  }

  /** The tenant's share against others, as it was then. */
  int weight() {
    return weight;
  }

  State state() {
    return state;
  }

  void state(State next) {
    state = next;
  }

  /** Its last sign of life: a turn that went, or the end of one. */
  long activeMs() {
    return activeMs;
  }

  void active(long nowMs) {
    activeMs = nowMs;
  }

  boolean isRunning() {
    return running > 0;
  }

  /** Whether it had turns, and none runs. */
  boolean isIdle() {
    return turns > 0 && running == 0;
  }

  /** Whether a turn of it is sure to come. */
  boolean isExpected() {
    return expected;
  }

  /** It was let in for a turn, which counts from then on. */
  void expect(ProgramTurn turn) {
    expected = true;
    contextTokens = Math.max(contextTokens, turn.promptTokens());
  }

  /** That turn goes, or is not expected any more. */
  void expectNone() {
    expected = false;
  }

  /** The milliseconds since its last sign of life. */
  long idleMs(long nowMs) {
    return Math.max(0, nowMs - activeMs);
  }

  /** Whether it has had at most one turn. */
  boolean isFirst() {
    return turns <= 1;
  }

  /** Whether its latest turn is the last one, as it says. */
  boolean isLast() {
    return last;
  }

  /** Notes a turn that goes; the time since the last one is a gap, unless they overlap. */
  void began(ProgramTurn turn, long nowMs) {
    if (isIdle()) {
      gaps++;
      gapsMs += idleMs(nowMs);
      returnedTokens += turn.promptTokens();
      heldTokens += turn.heldTokens();
    }
    turns++;
    running++;
    last = turn.last();
    activeMs = nowMs;
    grow(turn.promptTokens());
  }

  /** Notes the end of a turn that went. */
  void ended(int context, long nowMs) {
    running = Math.max(0, running - 1);
    activeMs = nowMs;
    grow(context);
  }

  /**
   * A shorter context is a question asked beside the conversation, or the conversation was summarised: it counts by a
   * part, so that the latter is known after some turns.
   */
  private void grow(int context) {
    contextTokens =
        context >= contextTokens ? context : contextTokens - (contextTokens - context) / SHORTER_COUNTS;
  }

  /** The tokens of its own. */
  int ownTokens() {
    return Math.max(0, contextTokens - sharedTokens);
  }

  /** The tokens of its own that it would have with a prompt as long as that. */
  int ownTokens(int promptTokens) {
    return Math.max(0, Math.max(contextTokens, promptTokens) - sharedTokens);
  }

  ProgramStatus status() {
    return new ProgramStatus(
        name, state == State.LIVE, turns, gaps == 0 ? 0 : gapsMs / gaps, returnedTokens, heldTokens, ownTokens());
  }
}
