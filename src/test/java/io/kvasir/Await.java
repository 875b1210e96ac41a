package io.kvasir;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Waits, by polling, for a state that other threads, processes and machines bring about without a signal. */
public final class Await {
  /** Longer than anything that a test waits for, however busy the machine is. */
  private static final Duration TIMEOUT = Duration.ofSeconds(90);

  /** In nanoseconds. Pauses grow with the wait: a look is often a request to a node that has other things to do. */
  private static final long SHORTEST_PAUSE = 2_000_000;

  private static final long LONGEST_PAUSE = 50_000_000;

  /** Of a pause that is longer since looking takes long. */
  private static final long LONGEST_REST = 250_000_000;

  private Await() {}

  /** The state that is waited for. */
  @FunctionalInterface
  public interface Condition {
    boolean holds() throws Exception;
  }

  /** Polls until the condition holds; fails when that takes too long, or when the condition throws. */
  public static void await(String what, Condition condition) {
    within(TIMEOUT, what, condition);
  }

  /** The same with a timeout of the test's own. */
  public static void within(Duration timeout, Condition condition) {
    within(timeout, "the condition at this line of the test", condition);
  }

  private static void within(Duration timeout, String what, Condition condition) {
    long begun = System.nanoTime();
    long looked = begun;
    while (!holds(what, condition)) {
      long now = System.nanoTime();
      long waited = now - begun;
      assertThat(waited).as("waited too long: " + what).isLessThan(timeout.toNanos());
      long pause = Math.clamp(waited / 8, SHORTEST_PAUSE, LONGEST_PAUSE);
      LockSupport.parkNanos(Math.max(pause, Math.min(2 * (now - looked), LONGEST_REST)));
      looked = System.nanoTime();
    }
  }

  /** The same where the code itself names the state. */
  public static void await(Condition condition) {
    await("the condition at this line of the test", condition);
  }

  private static boolean holds(String what, Condition condition) {
    try {
      return condition.holds();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new AssertionError("cannot be checked: " + what, e);
    }
  }
}
