package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.RouterExam;
import io.kvasir.doctor.exam.RouterExam.NodeLink;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Whether each node reaches the ports that it needs of each other node, as they found themselves. */
final class NodePortsCheck extends Check {
  NodePortsCheck() {
    super("node-ports", "Does each of the router's nodes reach every port that it needs of each other?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    RouterExam router = examination.router();
    if (router == null) {
      return;
    }
    SequencedMap<String, List<NodeLink>> closed =
        router.links().stream()
            .filter(link -> !link.open())
            .collect(Collectors.groupingBy(
                link -> link.to() + " " + link.port() + " " + link.detail(), TreeMap::new, Collectors.toList()));
    for (Map.Entry<String, List<NodeLink>> entry : closed.entrySet()) {
      NodeLink link = entry.getValue().getFirst();
      String problem =
          "%s not reach its port for %s, %s: %s".formatted(
              from(entry.getValue()), purpose(link.port()), link.address(), link.detail());
      if (link.port().equals("line")) {
        found.warning("node " + link.to(), problem, why(link.port()), remedy(link.port()));
      } else {
        found.error("node " + link.to(), problem, why(link.port()), remedy(link.port()));
      }
    }
  }

  private static String from(List<NodeLink> links) {
    return links.stream().map(NodeLink::from).collect(Collectors.joining(", "))
        + (links.size() == 1 ? " does" : " do");
  }

  private static String purpose(String port) {
    return switch (port) {
      case "cluster" -> "membership";
      case "line" -> "decisions";
      case "gateway" -> "forwarded events";
      default -> port;
    };
  }

  private static String why(String port) {
    return switch (port) {
      case "cluster" -> "What the one asks of the other is not answered, and the cluster may take one of them out.";
      case "line" ->
          "Decisions between the two go by the cluster's port, which is slower and takes no prompts of more than some"
              + " 25,000 blocks.";
      case "gateway" -> "Events pushed to the one do not come to the cells of the other.";
      default -> "Nodes that start do not find it, and may form a cluster of their own.";
    };
  }

  private static String remedy(String port) {
    return switch (port) {
      case "cluster" -> "Open kvasir.cluster.port between all nodes, in both directions, and give all of them"
          + " certificates of one authority and one subject in kvasir.cluster.tls, or none.";
      case "line" -> "Set kvasir.cluster.line-port on all nodes, and open it between them; without it the port is"
          + " another at each start.";
      case "gateway" -> "Set kvasir.gateway.host to an address that other nodes reach, such as 0.0.0.0, and open"
          + " kvasir.gateway.port between them.";
      default -> "Set kvasir.management.host to an address that other nodes reach, such as 0.0.0.0, and open"
          + " kvasir.management.port between them; kvasir.management.tls is to be the same on all.";
    };
  }
}
