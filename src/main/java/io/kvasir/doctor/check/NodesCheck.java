package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.RouterExam;

/** Whether the nodes of a cluster are there for each other. */
final class NodesCheck extends Check {
  NodesCheck() {
    super("nodes", "Do the router's nodes reach each other, and say what they are?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    RouterExam router = examination.router();
    if (router == null) {
      return;
    }
    for (RouterExam.NodeSeen node : router.nodes()) {
      if (!node.reachable()) {
        found.error("node " + node.address(), "other nodes do not reach it",
            "The cells whose home it is answer nobody else, and others may take them over.",
            "Is it running, and is kvasir.cluster.port open between the nodes in both directions?");
      } else if (!node.answered()) {
        found.warning("node " + node.address(), "it did not say what it is and which ports it reaches",
            "Whether it has the same configuration, and reaches the other nodes, is not known.",
            "Does it run an earlier version? Update it, or look into its log.");
      }
    }
  }
}
