package io.kvasir.doctor.check;

import java.util.ArrayList;
import java.util.List;

/** The findings of one check, in the order found. Not thread-safe. */
final class FindingCollector {
  private final String check;
  private final List<Finding> findings = new ArrayList<>();

  FindingCollector(String check) {
    this.check = check;
  }

  void error(Object subject, String problem, String why, String remedy) {
    findings.add(new Finding(check, Severity.ERROR, subject.toString(), problem, why, remedy));
  }

  void warning(Object subject, String problem, String why, String remedy) {
    findings.add(new Finding(check, Severity.WARNING, subject.toString(), problem, why, remedy));
  }

  void note(Object subject, String problem, String why, String remedy) {
    findings.add(new Finding(check, Severity.NOTE, subject.toString(), problem, why, remedy));
  }

  List<Finding> list() {
    return List.copyOf(findings);
  }
}
