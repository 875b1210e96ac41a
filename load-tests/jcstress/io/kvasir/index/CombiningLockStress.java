package io.kvasir.index;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** {@link CombiningLock}: every submitted operation is applied, once, under the lock. */
public class CombiningLockStress {
  /** A plain counter that only the lock's holder changes. */
  static class Counter implements CombiningLock.PendingWork<Integer> {
    final CombiningLock<Integer> lock = new CombiningLock<>(this);
    int sum;
    int rejected;

    @Override
    public void apply(Integer operation) {
      sum += operation;
    }

    @Override
    public void reject(Integer operation) {
      rejected++;
    }

    @Override
    public void beforeUnlock() {}
  }

  /** Two threads submit while a third one holds the lock for a moment. */
  @JCStressTest
  @Outcome(id = "111, 0", expect = Expect.ACCEPTABLE, desc = "each operation was applied once")
  @Outcome(expect = Expect.FORBIDDEN, desc = "an operation was lost, repeated or rejected")
  @State
  public static class SubmitBesideHolder extends Counter {
    @Actor
    public void submitOne() {
      lock.submit(1);
    }

    @Actor
    public void submitTen() {
      lock.submit(10);
    }

    @Actor
    public void hold() {
      try (var _ = lock.acquire()) {
        sum += 100;
      }
    }

    @Arbiter
    public void read(II_Result result) {
      result.r1 = sum;
      result.r2 = rejected;
    }
  }

  /** What is submitted before another thread acquires the lock is applied once that thread has released it. */
  @JCStressTest
  @Outcome(id = "3, 0", expect = Expect.ACCEPTABLE, desc = "both were applied")
  @Outcome(expect = Expect.FORBIDDEN, desc = "an operation was left in the queue")
  @State
  public static class SubmitTwice extends Counter {
    @Actor
    public void submitOne() {
      lock.submit(1);
    }

    @Actor
    public void submitTwo() {
      lock.submit(2);
    }

    @Arbiter
    public void read(II_Result result) {
      result.r1 = sum;
      result.r2 = rejected;
    }
  }
}
