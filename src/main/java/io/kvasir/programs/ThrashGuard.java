package io.kvasir.programs;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;

/**
 * Keeps the programs of a cell from evicting each other. A live program comes back with its whole context; when the
 * contexts of all live programs are more than the workers can hold, each turn evicts what the next one needs, and
 * everything is computed again and again. So new programs wait until there is room, and so does the next turn of a
 * program that was paused; turns of live programs never do. While there is room, nothing waits.
 *
 * <p>A program counts with the tokens of its own: those that others had brought before its first turn are theirs; while
 * it is idle, by how likely programs come back, so that prompts which are the only ones of theirs hold nobody back. It
 * is let in below one share of what the workers can hold, and idle programs are paused above another, those that have
 * been idle for longest first, so that a fleet at its limit does not let in and pause by turns. Of the programs that
 * wait those of the tenant are first whose live programs have least; of one tenant those whose prefix a worker still
 * holds, then paused ones, then new ones; among these, by arrival. One that is larger than its tenant's share of the
 * memory holds nobody up: it goes when it has room nevertheless. After the longest wait a program is let in all the
 * same. One that is not offered any more has left.
 *
 * <p>After ThunderAgent (arXiv 2602.13692), which holds back programs between their turns. Time is passed in, so that
 * the laboratory uses this class, too. Thread-safe: one lock, held for the time of a few look-ups.
 */
public final class ThrashGuard {
  /** A waiting turn is offered again more often than this, or its client has left. */
  static final long LEFT_MS = 5_000;

  /** Above this share of a prompt, a worker still holds the program's prefix. */
  private static final double STILL_HELD = 0.5;

  private final GuardSettings settings;
  private final ProgramListener listener;
  private final ReturnRate returns;

  /** All that are remembered, the one that was quiet for longest first. */
  private final LinkedHashMap<String, Program> programs = new LinkedHashMap<>(16, 0.75f, true);

  /** Live programs without a running turn, the one that has been idle or expected for longest first. */
  private final LinkedHashMap<String, Program> idle = new LinkedHashMap<>();

  private final ProgramLine line = new ProgramLine();
  private long liveTokens;

  /** Of these, those of idle programs after their first turns, and of idle ones after later turns. */
  private final long[] idleTokens = new long[2];

  private int live;

  /** A guard that knows no programs. */
  public ThrashGuard(GuardSettings settings, ProgramListener listener) {
    this(settings, listener, new ReturnRate());
  }

  ThrashGuard(GuardSettings settings, ProgramListener listener, ReturnRate returns) {
    this.settings = settings;
    this.listener = listener;
    this.returns = returns;
  }

  /**
   * Whether a turn may go. One that may not is to be offered again, at least once a second, until it may or has left.
   * That a turn may go makes its program live, whether the turn then goes or something else holds it.
   *
   * @param capacityTokens what the workers can hold, all together; 0 while that is not known: then every turn may go
   */
  public synchronized boolean mayGo(ProgramTurn turn, long capacityTokens, long nowMs) {
    expire(nowMs);
    Program known = programs.get(turn.program());
    if (known != null && known.state() == Program.State.LIVE) {
      return true;
    }
    Program program = known == null ? remember(new Program(turn)) : known;
    if (line.isEmpty() && hasRoom(program, turn, capacityTokens)) {
      program.expect(turn);
      admit(program, nowMs);
      return true;
    }
    ProgramWait wait =
        line.offer(program, rank(program, turn), program.ownTokens(turn.promptTokens()), nowMs, listener::held);
    boolean late = nowMs - wait.sinceMs() >= settings.longestWaitMs();
    boolean goes =
        late
            || (line.isNext(program, wait, settings.admitBelow() * capacityTokens, nowMs)
                && hasRoom(program, turn, capacityTokens));
    if (goes) {
      if (late) {
        listener.forced();
      }
      program.expect(turn);
      admit(program, nowMs);
      return true;
    }
    return false;
  }

  /** Whether a program is live, so that its turns do not wait. */
  public synchronized boolean isLive(String name) {
    Program program = programs.get(name);
    return program != null && program.state() == Program.State.LIVE;
  }

  /** Handles that a turn goes. */
  public synchronized void began(ProgramTurn turn, long nowMs) {
    Program program = programs.get(turn.program());
    if (program == null) {
      program = remember(new Program(turn));
    }
    if (program.state() != Program.State.LIVE) {
      admit(program, nowMs);
    }
    removeIdle(program);
    if (program.isIdle()) {
      returns.returned(program.isFirst());
      listener.returned(turn, program.idleMs(nowMs));
    }
    int before = program.ownTokens();
    program.began(turn, nowMs);
    addLive(program, 0, program.ownTokens() - before);
  }

  /**
   * Handles the end of a turn that went.
   *
   * @param contextTokens tokens of its prompt and its answer
   * @param capacityTokens as for {@link #mayGo}
   */
  public synchronized void ended(String name, int contextTokens, long capacityTokens, long nowMs) {
    Program program = programs.get(name);
    if (program == null || !program.isRunning()) {
      // Forgotten meanwhile, and perhaps come back: it counts by what is known since.
      return;
    }
    int before = program.ownTokens();
    program.ended(contextTokens, nowMs);
    if (program.state() == Program.State.LIVE) {
      addLive(program, 0, program.ownTokens() - before);
      if (!program.isRunning()) {
        returns.ended(program.isFirst());
        addIdle(program);
        if (program.isLast()) {
          pause(program);
        }
      }
    }
    while (capacityTokens > 0 && expectedTokens() > settings.pauseAbove() * capacityTokens && !idle.isEmpty()) {
      pause(idle.firstEntry().getValue());
      listener.paused();
    }
  }

  /** The state of the guard, for people and metrics. */
  public synchronized GuardStatus status() {
    return new GuardStatus(programs.size(), live, liveTokens, Math.round(expectedTokens()), line.length());
  }

  /** The programs that are remembered, the one with most tokens of its own first, and at most so many. */
  public synchronized List<ProgramStatus> largest(int most) {
    List<ProgramStatus> all = new ArrayList<>(programs.size());
    programs.values().forEach(program -> all.add(program.status()));
    all.sort((one, other) -> Integer.compare(other.ownTokens(), one.ownTokens()));
    return List.copyOf(all.subList(0, Math.min(most, all.size())));
  }

  /** Adds a program, and forgets the one that was quiet for longest when there are too many. */
  private Program remember(Program program) {
    programs.put(program.name(), program);
    if (programs.size() > settings.maxPrograms()) {
      Program eldest = programs.firstEntry().getValue();
      pause(eldest);
      line.end(eldest);
      programs.remove(eldest.name());
    }
    return program;
  }

  private boolean hasRoom(Program program, ProgramTurn turn, long capacityTokens) {
    if (capacityTokens <= 0 || live == 0) {
      return true;
    }
    double share = rank(program, turn) == 0 ? settings.pauseAbove() : settings.admitBelow();
    return expectedTokens() + program.ownTokens(turn.promptTokens()) <= share * capacityTokens;
  }

  /** The tokens of live programs, those of idle ones as far as these are likely to come back. */
  private double expectedTokens() {
    return liveTokens - idleTokens[0] * (1 - returns.of(true)) - idleTokens[1] * (1 - returns.of(false));
  }

  private static int rank(Program program, ProgramTurn turn) {
    if (program.state() == Program.State.NEW) {
      return 2;
    }
    return turn.heldTokens() >= turn.promptTokens() * STILL_HELD ? 0 : 1;
  }

  private void admit(Program program, long nowMs) {
    program.state(Program.State.LIVE);
    program.active(nowMs);
    addLive(program, 1, program.ownTokens());
    ProgramWait _ = line.end(program);
    addIdle(program);
  }

  private void addLive(Program program, int programs, int tokens) {
    live += programs;
    liveTokens += tokens;
    line.addLive(program, programs, tokens);
  }

  private void addIdle(Program program) {
    idle.putLast(program.name(), program);
    if (!program.isExpected()) {
      idleTokens[program.isFirst() ? 0 : 1] += program.ownTokens();
    }
  }

  private void removeIdle(Program program) {
    if (idle.remove(program.name()) != null && !program.isExpected()) {
      idleTokens[program.isFirst() ? 0 : 1] -= program.ownTokens();
    }
    program.expectNone();
  }

  /** Pauses programs that have been idle for so long that they are not expected back. To be called now and then. */
  public synchronized void expire(long nowMs) {
    while (!idle.isEmpty() && nowMs - idle.firstEntry().getValue().activeMs() >= settings.aliveMs()) {
      pause(idle.firstEntry().getValue());
    }
  }

  private void pause(Program program) {
    if (program.state() == Program.State.LIVE) {
      program.state(Program.State.PAUSED);
      removeIdle(program);
      addLive(program, -1, -program.ownTokens());
      listener.left(program.name());
    }
  }
}
