package io.kvasir;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.locks.LockSupport;

/** Waiting for what other threads, processes and machines bring about, of which nobody tells a test. */
public final class Await {
  /** Nothing that a test waits for takes as long, however busy the machine is. */
  private static final Duration TIMEOUT = Duration.ofSeconds(90);

  private Await() {}

  /** What is waited for. */
  @FunctionalInterface
  public interface Condition {
    boolean holds() throws Exception;
  }

  /** Looks again and again until the condition holds; fails when that takes too long, or when it cannot be told. */
  public static void await(String what, Condition condition) {
    within(TIMEOUT, what, condition);
  }

  /** The same for a test that waits no longer than this. */
  public static void within(Duration patience, Condition condition) {
    within(patience, "what this line of the test says", condition);
  }

  private static void within(Duration patience, String what, Condition condition) {
    Instant deadline = Instant.now().plus(patience);
    while (!holds(what, condition)) {
      assertThat(Instant.now()).as("waited too long: " + what).isBefore(deadline);
      LockSupport.parkNanos(5_000_000);
    }
  }

  /** The same where the code says what is waited for. */
  public static void await(Condition condition) {
    await("what this line of the test says", condition);
  }

  private static boolean holds(String what, Condition condition) {
    try {
      return condition.holds();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new AssertionError("cannot tell: " + what, e);
    }
  }
}
