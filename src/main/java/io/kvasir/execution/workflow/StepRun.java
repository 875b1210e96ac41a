package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.execution.AbortReason;
import io.kvasir.execution.UpstreamRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A step under way: one request to its worker, or several. Confined to its workflow's actor. */
final class StepRun {
  private final Decision.Chosen chosen;
  private final List<UpstreamRequest> upstreamRequests = new ArrayList<>(1);
  private final List<byte[]> answers = new ArrayList<>(1);
  private int open;
  private boolean hedge;

  /** A step of these requests, each a leg of the step as it is booked for that request. */
  StepRun(Decision.Chosen chosen, List<Function<Decision.Chosen, UpstreamRequest>> requests) {
    this.chosen = chosen;
    this.open = requests.size();
    Decision.Chosen booked = open == 1 ? chosen : shared(chosen, open);
    for (Function<Decision.Chosen, UpstreamRequest> request : requests) {
      upstreamRequests.add(request.apply(booked));
      answers.add(new byte[0]);
    }
  }

  /** This is the second of two that do the same. */
  void markHedge() {
    hedge = true;
  }

  boolean isHedge() {
    return hedge;
  }

  Decision.Chosen chosen() {
    return chosen;
  }

  String name() {
    return chosen.step().name();
  }

  List<UpstreamRequest> requests() {
    return upstreamRequests;
  }

  /** The answers, one for each request. */
  List<byte[]> answers() {
    return answers;
  }

  /** Keeps a request's answer. */
  void setAnswer(int request, byte[] answer) {
    answers.set(request, answer);
  }

  /** A request is over; true when it was the last. */
  boolean requestEnded() {
    return --open == 0;
  }

  void stop(AbortReason why) {
    upstreamRequests.forEach(leg -> leg.abort(why));
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
    private final Reservation delegate;
    private int open;
    private @Nullable Outcome worst;

    SharedReservation(Reservation one, int requests) {
      this.delegate = one;
      this.open = requests;
    }

    @Override
    public void firstToken() {}

    @Override
    public void prefillLocally() {}

    @Override
    public void progressed() {
      delegate.progressed();
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
        delegate.close(all);
      }
    }
  }
}
