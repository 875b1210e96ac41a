package io.kvasir.limits;

/** The result of asking a {@link Limiter} for a request. */
public sealed interface Admission {
  /** The request may go on; its reservation has to be ended. */
  record Admitted(LimitReservation reservation) implements Admission {}

  /** The request is beyond a limit, and nothing is reserved for it. */
  record Refused(Refusal refusal) implements Admission {}
}
