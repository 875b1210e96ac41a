package io.kvasir.gateway.admin;

import java.util.Locale;

/** What an administrator may do. */
public enum AdminRole {
  /** Everything. */
  ADMIN,
  /** Look at what there is, and change nothing. */
  VIEWER;

  /** Whether requests of a method are allowed. */
  boolean allows(String method) {
    return this == ADMIN || method.equals("GET");
  }

  /** Its name in keys and in the audit log. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
