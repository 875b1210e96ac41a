package io.kvasir.routing.workflows;

import java.util.Locale;

/** Where a prompt is read, and why not elsewhere. */
enum PlanKind {
  /** By a prefill worker, for the decode worker. */
  REMOTE,
  /** By the decode worker, which lacks too little of it. */
  HELD,
  /** By the decode worker, which does it at less cost. */
  CHEAPER,
  /** By the worker that generates, as the profile says. */
  NEVER,
  /** By the worker that generates, since no prefill worker is there. */
  NO_WORKER,
  /** By the worker that generates, since the prefill workers, or the decode workers beside them, have no room. */
  FULL,
  /** By the worker that generates, since it hands over to nobody. */
  UNPAIRED,
  /** By the only worker, since the request cannot be divided. */
  INDIVISIBLE;

  String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
