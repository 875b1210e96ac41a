package io.kvasir.cell.worker;

import io.kvasir.routing.Booking;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;

/** {@link WorkerLoad}: bookings neither exceed the limit nor get lost. */
public class WorkerLoadStress {
  private static final Booking BOOKING = new Booking(100, 40, 5_000);
  private static final Booking PREFILL = new Booking(100, 100, 9_000);

  /** Two threads book the last place. */
  @JCStressTest
  @Outcome(id = {"1, 0, 1, 40", "0, 1, 1, 40"}, expect = Expect.ACCEPTABLE, desc = "one of them has it")
  @Outcome(expect = Expect.FORBIDDEN, desc = "both or none have it, or a counter is wrong")
  @State
  public static class BookLastPlace {
    private final WorkerLoad load = new WorkerLoad(1);

    @Actor
    public void first(IIII_Result result) {
      result.r1 = load.book(BOOKING) ? 1 : 0;
    }

    @Actor
    public void second(IIII_Result result) {
      result.r2 = load.book(BOOKING) ? 1 : 0;
    }

    @Arbiter
    public void read(IIII_Result result) {
      result.r3 = load.inFlight();
      result.r4 = (int) load.pendingTokens();
    }
  }

  /** One request is booked, rebooked and over while another one is booked. */
  @JCStressTest
  @Outcome(id = "1, 40, 5, 100", expect = Expect.ACCEPTABLE, desc = "what is left is the other booking")
  @Outcome(expect = Expect.FORBIDDEN, desc = "an update was lost")
  @State
  public static class ReleaseBesideBook {
    private final WorkerLoad load = new WorkerLoad(2);

    @Actor
    public void completeRequest() {
      load.book(BOOKING);
      load.rebook(BOOKING, PREFILL);
      load.settle(PREFILL);
      load.release(PREFILL);
    }

    @Actor
    public void book() {
      load.book(BOOKING);
    }

    @Arbiter
    public void read(IIII_Result result) {
      result.r1 = load.inFlight();
      result.r2 = (int) load.pendingTokens();
      result.r3 = (int) load.queueMs();
      result.r4 = (int) load.contextTokens();
    }
  }
}
