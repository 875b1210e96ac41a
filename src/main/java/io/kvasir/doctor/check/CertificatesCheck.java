package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.CertificateExam;
import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.RouterExam.NodeSeen;
import io.kvasir.doctor.exam.RouterExam;
import java.time.Duration;

/** Whether the router's certificates are valid, for long enough and for its hosts. */
final class CertificatesCheck extends Check {
  private static final Duration SOON = Duration.ofDays(14);

  CertificatesCheck() {
    super("certificates", "Is every certificate valid for two weeks more, and for the host it is used for?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    examination.certificates().forEach(certificate -> examine(certificate, "", examination, found));
    RouterExam router = examination.router();
    if (router != null) {
      for (NodeSeen node : router.nodes()) {
        node.certificates().forEach(
            certificate -> examine(certificate, " at " + node.address(), examination, found));
      }
    }
  }

  private static void examine(
      CertificateExam certificate, String where, Examination examination, FindingCollector found) {
    String subject = certificate.file() + " of " + certificate.setting() + where;
    String remedy = "Replace the file; nodes read it again by themselves.";
    if (certificate.failure() != null) {
      found.error(subject, "it cannot be read: " + certificate.failure(), "A node does not start with it.",
          "Correct " + certificate.setting() + ".certificate.");
    } else if (certificate.until().isBefore(examination.at()) || certificate.from().isAfter(examination.at())) {
      found.error(subject, "it is valid from " + certificate.from() + " to " + certificate.until(),
          "Clients and other nodes refuse the connection.", remedy);
    } else if (certificate.until().isBefore(examination.at().plus(SOON))) {
      found.warning(subject, "it is valid until " + certificate.until() + " only",
          "Clients and other nodes will refuse connections from then on.", remedy);
    }
    String host = certificate.host();
    if (certificate.failure() == null && host != null && !certificate.isFor(host)) {
      found.error(subject, "it is not for " + host + ", but for " + String.join(", ", certificate.names()),
          "Whoever verifies the host refuses the connection.",
          "Have it issued for " + host + " too (subjectAltName).");
    }
  }
}
