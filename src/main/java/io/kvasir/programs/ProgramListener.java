package io.kvasir.programs;

/** What a {@link ThrashGuard} reports while it has its lock, so that whoever listens must not wait. */
public interface ProgramListener {
  /** Nobody listens. */
  ProgramListener NONE = new ProgramListener() {};

  /**
   * A turn goes after another one of its program.
   *
   * @param gapMs milliseconds since the end of that one
   */
  default void returned(ProgramTurn turn, long gapMs) {}

  /** A program has to wait. */
  default void held() {}

  /** A program has been paused to make room. */
  default void paused() {}

  /** A program is not expected back: it said so, was quiet for too long, or was paused to make room. */
  default void left(String program) {}

  /** A program has been let in since it had waited for the longest time. */
  default void forced() {}
}
