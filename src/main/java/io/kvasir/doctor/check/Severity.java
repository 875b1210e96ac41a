package io.kvasir.doctor.check;

import java.util.Locale;

/** How bad a finding is, the worst first. */
public enum Severity {
  /** Requests fail, or what the router knows of a cache is wrong or missing. */
  ERROR,
  /** Something works worse than it could, or will fail later. */
  WARNING,
  /** Worth knowing; nothing is wrong. */
  NOTE;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
