package io.kvasir.cell;

import java.util.Locale;

/**
 * How a request stands that counts on blocks which earlier requests are to compute. Where the engine shares a prompt's
 * blocks only once it has computed them, it is held until then: it would be computed beside the earlier ones, all of
 * it. Where it shares them at once, it is held until the earlier ones are sent.
 */
public enum PrefixHold {
  /** It counts on none that an earlier one is still to compute. */
  NONE,
  /** It is held. */
  HELD,
  /** It was held until the engine had them, or will have had them before its turn, or the earlier ones were over. */
  COMPUTED,
  /** The engine should have had them long ago, or the earlier ones should have been sent, so it goes without. */
  OVERDUE,
  /** The cell's home does not know, for it has just become that, or does not answer: it goes without. */
  UNKNOWN,
  /** It is not to be sent any more. */
  CANCELLED;

  /** Its name in metrics and in reasons. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
