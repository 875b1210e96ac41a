package io.kvasir.cell.ledger;

import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.worker.Member;

/** The reservation of a worker that is to take KV blocks from another one: its answer shows what it found. */
public final class PullingReservation extends WatchedReservation {
  private final Member member;
  private final Member source;
  private final int heldTokens;
  private final int expectedTokens;

  /**
   * Of a member that is to take tokens from another one.
   *
   * @param heldTokens leading tokens of the prompt that it holds itself
   * @param expectedTokens tokens that it should find beyond those, at least 1
   */
  public PullingReservation(
      Reservation reservation, Member member, Member source, int heldTokens, int expectedTokens) {
    super(reservation);
    this.member = member;
    this.source = source;
    this.heldTokens = heldTokens;
    this.expectedTokens = expectedTokens;
  }

  @Override
  void ended(Outcome outcome) {
    if (outcome instanceof Outcome.Completed completed && completed.cachedTokens() != Outcome.UNKNOWN) {
      int found = Math.clamp(completed.cachedTokens() - heldTokens, 0, expectedTokens);
      member.pulled(source, expectedTokens, found);
    }
  }
}
