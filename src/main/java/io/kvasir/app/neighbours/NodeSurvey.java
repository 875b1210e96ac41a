package io.kvasir.app.neighbours;

import io.kvasir.app.neighbours.NodeMessage.Description;
import io.kvasir.app.neighbours.NodeMessage.PortProbe;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * All nodes of the cluster, and what each reaches of the others.
 *
 * @param nodes the asked one first
 * @param links one for each port that a node tried
 */
record NodeSurvey(List<SurveyedNode> nodes, List<Link> links) {
  /**
   * A node.
   *
   * @param address host and port of its remoting
   * @param description null when it did not answer: it is not reached, or of a version that does not know the question
   * @param settings null when they cannot be compared
   */
  record SurveyedNode(String address, @Nullable Description description, @Nullable SettingsComparison settings) {}

  /**
   * A port of one node, tried from another.
   *
   * @param from the address of the node that tried
   */
  record Link(String from, PortProbe probe) {}
}
