package io.kvasir.cell.ledger;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LLL_Result;
import org.openjdk.jcstress.infra.results.LL_Result;

/** {@link ReservationLifecycle}: each transition is taken once, and none after the end. */
public class ReservationLifecycleStress {
  /** The first token comes while the reservation is closed: the prompt is settled by one of them. */
  @JCStressTest
  @Outcome(id = "PENDING, SETTLED", expect = Expect.ACCEPTABLE, desc = "the first token came before the end")
  @Outcome(id = "null, PENDING", expect = Expect.ACCEPTABLE, desc = "the end came before the first token")
  @Outcome(expect = Expect.FORBIDDEN, desc = "settled twice, or never")
  @State
  public static class SettleBesideClose {
    private final ReservationLifecycle lifecycle = new ReservationLifecycle();

    @Actor
    public void settle(LL_Result result) {
      result.r1 = lifecycle.settle();
    }

    @Actor
    public void close(LL_Result result) {
      result.r2 = lifecycle.close();
    }
  }

  /** Two threads close. */
  @JCStressTest
  @Outcome(id = {"PENDING, null", "null, PENDING"}, expect = Expect.ACCEPTABLE, desc = "one of them closed it")
  @Outcome(expect = Expect.FORBIDDEN, desc = "closed twice, or never")
  @State
  public static class CloseTwice {
    private final ReservationLifecycle lifecycle = new ReservationLifecycle();

    @Actor
    public void first(LL_Result result) {
      result.r1 = lifecycle.close();
    }

    @Actor
    public void second(LL_Result result) {
      result.r2 = lifecycle.close();
    }
  }

  /** The worker begins to prefill locally while the first token comes and the reservation is closed. */
  @JCStressTest
  @Outcome(
      id = {
        "true, PREFILLING_LOCALLY, SETTLED", "true, null, PREFILLING_LOCALLY", "false, PENDING, SETTLED",
        "false, null, PENDING"
      },
      expect = Expect.ACCEPTABLE,
      desc = "each state was left once")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a state was left twice, or never")
  @State
  public static class PrefillLocallyBesideSettleAndClose {
    private final ReservationLifecycle lifecycle = new ReservationLifecycle();

    @Actor
    public void prefillLocally(LLL_Result result) {
      result.r1 = lifecycle.prefillLocally();
    }

    @Actor
    public void settle(LLL_Result result) {
      result.r2 = lifecycle.settle();
    }

    @Actor
    public void close(LLL_Result result) {
      result.r3 = lifecycle.close();
    }
  }
}
