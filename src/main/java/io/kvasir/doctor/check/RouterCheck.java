package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.RouterExam;

/** Whether a running router finds nothing wrong itself. */
final class RouterCheck extends Check {
  RouterCheck() {
    super("router", "Is the router ready, and does everything work as configured by its own account?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    RouterExam router = examination.router();
    if (router == null) {
      return;
    }
    for (RouterExam.Problem problem : router.problems()) {
      if (problem.error()) {
        found.error(router.management(), problem.what(), "The node is not ready, and gets no requests.",
            problem.remedy());
      } else {
        found.warning(router.management(), problem.what(), "Something does not work as it is configured.",
            problem.remedy());
      }
    }
  }
}
