package io.kvasir.routing;

import java.util.List;

/** Thrown when profiles do not compile; the message lists every fault. */
public final class InvalidProfilesException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final transient List<CompilationFault> faults;

  InvalidProfilesException(List<CompilationFault> faults) {
    super(report(faults));
    this.faults = List.copyOf(faults);
  }

  /** Every fault, by file and line. */
  public List<CompilationFault> faults() {
    return faults;
  }

  private static String report(List<CompilationFault> faults) {
    StringBuilder report = new StringBuilder(256);
    report.append(faults.size() == 1 ? "1 fault" : faults.size() + " faults").append(" in the routing profiles:\n");
    for (int i = 0; i < faults.size(); i++) {
      report.append('\n').append(i + 1).append(". ").append(faults.get(i)).append('\n');
    }
    return report.toString();
  }
}
