package io.kvasir.lmcache;

/** The outcome of a prefetch; its name in lower case is a label of the metrics. */
enum PrefetchOutcome {
  /** The blocks were fetched within the budget. */
  COMPLETED,
  /** The coordinator found nothing to fetch. */
  NOTHING,
  /** The blocks were not fetched within the budget; they may be later. */
  LATE,
  /** The coordinator answered with an error. */
  REFUSED,
  /** The coordinator could not be reached, or its response could not be read. */
  FAILED,
  /** Fetching takes longer than the budget, or saves too little. */
  NOT_WORTH,
  /** The coordinator does not list an instance of the worker. */
  UNKNOWN_INSTANCE,
  /** The coordinator's circuit is open after failures. */
  LEFT_ALONE,
  /** The maximum of concurrent prefetches was reached. */
  CROWDED,
  /** The prompt's tokens are not known. */
  NO_TOKENS
}
