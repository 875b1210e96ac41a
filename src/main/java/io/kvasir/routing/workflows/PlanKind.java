package io.kvasir.routing.workflows;

import java.util.Locale;

/** The kind of a plan: remote prefill, or the reason for local prefill. */
enum PlanKind {
  /** Remote prefill: a prefill worker transfers KV blocks to the decode worker. */
  REMOTE,
  /** Local: the decode worker has too few uncached tokens to transfer. */
  HELD,
  /** Local: computing costs less than transferring. */
  CHEAPER,
  /** Local: the profile never splits. */
  NEVER,
  /** Local: there is no prefill worker. */
  NO_WORKER,
  /** Local: the prefill workers, or the decode workers paired with them, have no capacity. */
  FULL,
  /** Local: the chosen decode worker cannot receive from the prefill worker. */
  UNPAIRED,
  /** Local: the request cannot be split. */
  INDIVISIBLE;

  String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
