package io.kvasir.cell.ledger;

import io.kvasir.cell.ledger.ReservationLifecycle.State;
import io.kvasir.cell.worker.Member;
import io.kvasir.routing.Booking;

/**
 * The load of one reservation on its worker: what is pending there before its first token, what is in flight until its
 * end, and whether the worker's silence counts meanwhile. Each step is taken once, as the reservation's {@link
 * ReservationLifecycle} has it.
 */
final class BookedLoad {
  private final Member member;
  private final Booking booking;
  private final Booking localPrefill;
  private final boolean prefills;
  private final Answer answer;

  /** What comes of the worker, and when: by that its silence counts, and its prompt is taken to have been read. */
  enum Answer {
    /**
     * Its first token is seen as soon as the prompt has been read: the worker computes the prompt and streams, or hands
     * the prompt over and waits for nobody. Its silence counts before that, too.
     */
    STREAMED,
    /** The worker reads the prompt and answers as a whole: that it has read the prompt is estimated until then. */
    WHOLE,
    /** Which of the two is not known here, nor that it began: it is estimated, too, and no silence counts. */
    UNKNOWN,
    /** No silence counts before the first token: the worker waits for another one, or reads no prompt. */
    UNWATCHED
  }

  /**
   * A load that is booked.
   *
   * @param booking as it is booked
   * @param localPrefill as it is once the worker computes the prompt itself; the same where it does anyway
   * @param prefills whether the worker computes the prompt; otherwise another one hands it over, or there is none
   */
  BookedLoad(Member member, Booking booking, Booking localPrefill, boolean prefills, Answer answer) {
    this.member = member;
    this.booking = booking;
    this.localPrefill = localPrefill;
    this.prefills = prefills;
    this.answer = answer;
  }

  Booking booking() {
    return booking;
  }

  /** Whether the worker computes the prompt itself, from the beginning. */
  boolean prefills() {
    return prefills;
  }

  /** The worker gets the request. */
  void begin() {
    if (prefills && answer != Answer.UNKNOWN) {
      member.beginReading(booking);
    }
    switch (answer) {
      case STREAMED -> member.health().stallDetector().streamStarted();
      case WHOLE -> {
        member.beginSilent(booking);
        member.health().stallDetector().answerStarted();
      }
      case UNKNOWN -> member.beginSilent(booking);
      case UNWATCHED -> {}
    }
  }

  /** The worker computes the prompt itself after all. */
  void prefillLocally() {
    member.load().rebook(booking, localPrefill);
    member.beginReading(localPrefill);
  }

  /**
   * Nothing is pending any more: the first token has come, or never will.
   *
   * @param was the state until then
   */
  void settle(State was) {
    member.load().settle(was == State.PREFILLING_LOCALLY ? localPrefill : booking);
    if (prefills || was == State.PREFILLING_LOCALLY) {
      member.endReading();
    }
    switch (answer) {
      case WHOLE -> {
        member.load().endSilent(booking);
        member.health().stallDetector().answerEnded();
      }
      case UNKNOWN -> member.load().endSilent(booking);
      case STREAMED, UNWATCHED -> {}
    }
  }

  /** The first token has come, and the rest is to follow. */
  void answerBegun() {
    if (answer != Answer.STREAMED) {
      member.health().stallDetector().streamStarted();
    }
    member.promptRead();
  }

  /**
   * It is over, and has been settled.
   *
   * @param was the state until its end
   */
  void release(State was) {
    member.load().release(booking);
    if (answer == Answer.STREAMED || was == State.SETTLED) {
      member.health().stallDetector().streamEnded();
    }
  }
}
