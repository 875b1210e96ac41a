package io.kvasir.gateway.admin.vitals;

import io.kvasir.telemetry.Problem;
import java.util.List;

/**
 * What a node says of itself. Immutable.
 *
 * @param node its address in the cluster, host and port
 * @param version of Kvasir that it runs
 * @param uptime how long it has run, seconds
 * @param cutOff whether the cluster has taken it out
 * @param window how much time its figures are of, seconds
 * @param figures its own
 * @param problems what is wrong with it, the worst first
 */
public record NodeReport(
    String node,
    String version,
    long uptime,
    boolean cutOff,
    double window,
    VitalFigures figures,
    List<Problem> problems) {
  /** Copies it. */
  @SuppressWarnings("NullAway") // a node of another version may have left them out
  public NodeReport {
    node = node == null ? "" : node;
    version = version == null ? "" : version;
    figures = figures == null ? VitalFigures.sum(List.of()) : figures;
    problems = problems == null ? List.of() : List.copyOf(problems);
  }
}
