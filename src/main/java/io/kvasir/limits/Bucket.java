package io.kvasir.limits;

/**
 * A token bucket: what of a quota is not leased. A rate refills continuously, a budget at the beginning of each window
 * (windows follow each other from the epoch on), and slots do not refill: they come back. Whole units; the fractions of
 * a continuous refill are kept. One thread at a time.
 */
final class Bucket {
  /** Longer pauses count as this long, so that no product overflows. */
  private static final long LONGEST_PAUSE = 3_600_000;

  private static final long SLOT_MILLIS = 1000;

  private Quota quota;
  private long level;
  private long asOf;
  private long fraction;

  Bucket(Quota quota, long level, long asOf) {
    this.quota = quota;
    this.level = level;
    this.asOf = asOf;
  }

  /** What a quota has left some time after a stamp, if nothing is leased in between. */
  static long levelAt(Quota quota, Stamp stamp, long now) {
    Bucket bucket = new Bucket(quota, stamp.level(), stamp.asOf());
    bucket.refill(now, 0);
    return bucket.level;
  }

  /** How long it takes until {@code needed} units are there, in milliseconds; a guess for slots. */
  static long millisUntil(Quota quota, long level, long needed, long now) {
    long missing = Math.min(needed, quota.burst()) - level;
    if (missing <= 0) {
      return 0;
    }
    return switch (quota.dimension()) {
      case REQUESTS, TOKENS -> (long) Math.ceil((double) missing * quota.windowMillis() / quota.amount());
      case BUDGET -> quota.windowMillis() - Math.floorMod(now, quota.windowMillis());
      case CONCURRENT -> SLOT_MILLIS;
    };
  }

  Quota quota() {
    return quota;
  }

  long level() {
    return level;
  }

  void add(long units) {
    level += units;
  }

  void subtract(long units) {
    level -= units;
  }

  /** Goes on from another level, as it was at another moment. */
  void reset(long otherLevel, long when) {
    level = otherLevel;
    asOf = when;
    fraction = 0;
  }

  /** Changes the amount; what has been used of a budget stays used. */
  void resize(Quota other) {
    if (quota.dimension() == Dimension.BUDGET) {
      level += other.amount() - quota.amount();
    }
    quota = other;
    fraction = 0;
  }

  /**
   * Adds what has come in until now.
   *
   * @param now in milliseconds since the epoch; a moment before the last one, as when the clock has been set back,
   *     brings nothing: a rate refills on from there, a budget only with the window after the last one
   * @param leased what is leased and unused: with it the bucket is not larger than its burst
   */
  void refill(long now, long leased) {
    if (now <= asOf) {
      if (quota.dimension() != Dimension.BUDGET) {
        asOf = now;
      }
      return;
    }
    switch (quota.dimension()) {
      case REQUESTS, TOKENS -> {
        long elapsed = Math.min(now - asOf, LONGEST_PAUSE);
        long gained = quota.amount() * elapsed + fraction;
        level += gained / quota.windowMillis();
        fraction = gained % quota.windowMillis();
        if (level >= quota.burst() - leased) {
          level = quota.burst() - leased;
          fraction = 0;
        }
      }
      case BUDGET -> {
        if (now / quota.windowMillis() > asOf / quota.windowMillis()) {
          level = quota.amount() - leased;
        }
      }
      case CONCURRENT -> {}
    }
    asOf = now;
  }
}
