package io.kvasir.lab;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The way in which the router's index learns what engines have cached. */
sealed interface IndexMode {
  /** Events are applied at once. */
  record Exact() implements IndexMode {}

  /** Events are applied {@code ms} milliseconds later. */
  record Delayed(double ms) implements IndexMode {}

  /**
   * A share of the engines' event batches is lost, and the index is resynchronised from time to time.
   *
   * @param share of the batches, 0 to 1
   * @param resyncMs milliseconds between resynchronisations
   */
  record Lossy(double share, double resyncMs) implements IndexMode {}

  /** There are no events: the index holds what the router predicts from its own decisions. */
  record Approximate() implements IndexMode {}

  /** The forms of a mode, for help and faults. */
  String FORMS = "exact, delayed:MS, lossy:SHARE[:RESYNC_SECONDS] or approximate";

  /**
   * Reads a mode as written: {@code exact}, {@code delayed:500}, {@code lossy:0.05}, {@code lossy:0.05:10},
   * {@code approximate}.
   *
   * @throws IllegalArgumentException naming the forms
   */
  static IndexMode parse(String written) {
    Matcher form =
        Pattern.compile("(exact|approximate)|delayed:([0-9.]+)|lossy:([0-9.]+)(?::([0-9.]+))?").matcher(written);
    if (form.matches()) {
      try {
        if (form.group(1) != null) {
          return written.equals("exact") ? new Exact() : new Approximate();
        }
        if (form.group(2) != null) {
          return new Delayed(Double.parseDouble(form.group(2)));
        }
        double share = Double.parseDouble(form.group(3));
        double resync = form.group(4) == null ? 30 : Double.parseDouble(form.group(4));
        if (share <= 1 && resync > 0) {
          return new Lossy(share, resync * 1e3);
        }
      } catch (NumberFormatException malformed) {
        throw new IllegalArgumentException("'" + written + "' has a malformed number; write " + FORMS, malformed);
      }
    }
    throw new IllegalArgumentException("'" + written + "' is not known; write " + FORMS);
  }
}
