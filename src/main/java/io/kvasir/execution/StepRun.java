package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A step under way: one request to its worker, or several. Confined to its workflow's actor. */
final class StepRun {
  private final Decision.Chosen chosen;
  private final List<Leg> legs = new ArrayList<>(1);
  private final List<byte[]> answers = new ArrayList<>(1);
  private int open;
  private boolean hedge;

  /** A step of these requests, each a leg of the step as it is booked for that request. */
  StepRun(Decision.Chosen chosen, List<Function<Decision.Chosen, Leg>> requests) {
    this.chosen = chosen;
    this.open = requests.size();
    Decision.Chosen booked = open == 1 ? chosen : shared(chosen, open);
    for (Function<Decision.Chosen, Leg> request : requests) {
      legs.add(request.apply(booked));
      answers.add(new byte[0]);
    }
  }

  /** This is the second of two that do the same. */
  void hedges() {
    hedge = true;
  }

  boolean hedge() {
    return hedge;
  }

  Decision.Chosen chosen() {
    return chosen;
  }

  String name() {
    return chosen.step().name();
  }

  List<Leg> legs() {
    return legs;
  }

  /** The answers, one for each request. */
  List<byte[]> answers() {
    return answers;
  }

  /** Keeps a request's answer. */
  void answered(int request, byte[] answer) {
    answers.set(request, answer);
  }

  /** A request is over; true when it was the last. */
  boolean ended() {
    return --open == 0;
  }

  void stop(Stop why) {
    legs.forEach(leg -> leg.stop(why));
  }

  /** One booking for several requests: given back with the last of them, and as badly as the worst went. */
  private static Decision.Chosen shared(Decision.Chosen chosen, int requests) {
    return new Decision.Chosen(
        chosen.step(),
        new SharedReservation(chosen.reservation(), requests),
        chosen.depth(),
        chosen.predictedCachedTokens(),
        chosen.confirmedCachedTokens(),
        chosen.suspect());
  }

  private static final class SharedReservation implements Reservation {
    private final Reservation one;
    private int open;
    private @Nullable Outcome worst;

    SharedReservation(Reservation one, int requests) {
      this.one = one;
      this.open = requests;
    }

    @Override
    public void firstToken() {}

    @Override
    public void readsPrompt() {}

    @Override
    public void moved() {
      one.moved();
    }

    @Override
    public void close(Outcome outcome) {
      Outcome all;
      synchronized (this) {
        if (worst == null || outcome instanceof Outcome.Failed || outcome instanceof Outcome.Refused) {
          worst = outcome;
        }
        open--;
        all = open == 0 ? worst : null;
      }
      if (all != null) {
        one.close(all);
      }
    }
  }
}
