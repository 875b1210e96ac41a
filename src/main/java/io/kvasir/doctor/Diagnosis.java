package io.kvasir.doctor;

import io.kvasir.doctor.check.Finding;
import io.kvasir.doctor.check.Severity;
import io.kvasir.doctor.exam.RouterExam.NodeLink;
import java.util.List;

/**
 * The findings of all checks.
 *
 * @param engines how many engines were examined
 * @param findings the worst first
 * @param links what the nodes of a running router found at each other's ports
 */
public record Diagnosis(int engines, List<Finding> findings, List<NodeLink> links) {
  /** Copies the lists. */
  public Diagnosis {
    findings = List.copyOf(findings);
    links = List.copyOf(links);
  }

  /** 0 when nothing is wrong, 1 when the worst is a warning, 2 when there is an error. */
  public int exitStatus() {
    return count(Severity.ERROR) > 0 ? 2 : count(Severity.WARNING) > 0 ? 1 : 0;
  }

  /** How many findings have a severity. */
  public long count(Severity severity) {
    return findings.stream().filter(finding -> finding.severity() == severity).count();
  }
}
