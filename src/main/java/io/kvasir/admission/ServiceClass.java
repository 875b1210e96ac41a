package io.kvasir.admission;

import java.util.Locale;

/** How urgent a request is, the most urgent first. */
public enum ServiceClass {
  SYSTEM, INTERACTIVE, DEFAULT, BULK;

  /** Its name in settings, headers and metrics. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The less urgent of the two. */
  public ServiceClass atMost(ServiceClass highest) {
    return compareTo(highest) < 0 ? highest : this;
  }
}
