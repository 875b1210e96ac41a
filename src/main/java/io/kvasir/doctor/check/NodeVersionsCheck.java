package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.RouterExam;
import io.kvasir.doctor.exam.RouterExam.NodeSeen;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Whether all nodes run one version. */
final class NodeVersionsCheck extends Check {
  NodeVersionsCheck() {
    super("node-versions", "Do all of the router's nodes run the same version?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    RouterExam router = examination.router();
    if (router == null) {
      return;
    }
    Set<String> versions =
        router.nodes().stream().map(NodeSeen::version).collect(Collectors.toCollection(TreeSet::new));
    if (versions.size() > 1) {
      found.warning("the cluster", "its nodes run " + String.join(", ", versions),
          "Neighbouring versions work together for the time of an update, not for good.",
          "Finish the update: run the same version on all nodes.");
    }
  }
}
