package io.kvasir.gateway.admin;

import java.util.Locale;

/** What an administrator may do. */
public enum AdminRole {
  /** Everything. */
  ADMIN,
  /** Look at what there is, and change nothing. */
  VIEWER;

  /** Whether requests that change something, or do not, are allowed. */
  boolean allows(boolean changing) {
    return this == ADMIN || !changing;
  }

  /** Its name in keys and in the audit log. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
