package io.kvasir.doctor.exam;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a running router node said of itself and of the others.
 *
 * @param management where it was asked
 * @param problems what is wrong by its own account, as {@code /ready} tells it
 * @param nodes the nodes of its cluster
 * @param prompts the prompts of its latest decisions, null when there were none
 * @param strayInstances the instances of LMCache that belong to no worker
 * @param sources the event streams of its workers
 * @param links what its nodes found at each other's ports; empty with one node
 */
public record RouterExam(
    String management,
    List<Problem> problems,
    List<NodeSeen> nodes,
    @Nullable Prompts prompts,
    List<String> strayInstances,
    List<WorkerSource> sources,
    List<NodeLink> links) {
  /** Copies the lists. */
  public RouterExam {
    problems = List.copyOf(problems);
    nodes = List.copyOf(nodes);
    strayInstances = List.copyOf(strayInstances);
    sources = List.copyOf(sources);
    links = List.copyOf(links);
  }

  /**
   * The event stream of a worker, as the router has it.
   *
   * @param kind how it comes, such as {@code nats}, or several joined by +
   * @param gaps times that messages may have been missing
   * @param lastFault what went wrong last, null when nothing has
   */
  public record WorkerSource(String worker, String kind, State state, long gaps, @Nullable String lastFault) {
    /** Whether it can be relied on. */
    public enum State {
      /** It can. */
      CONNECTED,
      /** Some of it was lost. */
      SUSPECT,
      /** Nothing comes. */
      DISCONNECTED
    }
  }

  /**
   * A problem of the node.
   *
   * @param error whether the node is not ready because of it
   * @param what is wrong
   * @param remedy what to do about it
   */
  public record Problem(boolean error, String what, String remedy) {}

  /**
   * A node of the cluster.
   *
   * @param address such as {@code 10.0.0.5:7625}
   * @param reachable whether the other nodes' heartbeats reach it
   * @param version Kvasir's, as it runs there
   * @param answered whether it said what it is
   * @param settings those that are others than on the node that was asked, null when that is not known
   * @param certificates those by which it proves itself to the others
   */
  public record NodeSeen(
      String address,
      boolean reachable,
      String version,
      boolean answered,
      @Nullable SettingsSeen settings,
      List<CertificateExam> certificates) {
    /** Copies the list. */
    public NodeSeen {
      certificates = List.copyOf(certificates);
    }
  }

  /**
   * The settings of a node beside those of the one that was asked.
   *
   * @param differing how many differ
   * @param differences the first of them, each in words
   */
  public record SettingsSeen(int differing, List<String> differences) {
    /** Copies the list. */
    public SettingsSeen {
      differences = List.copyOf(differences);
    }
  }

  /**
   * A port of a node, as another found it.
   *
   * @param from the address of the node that tried
   * @param to that of the node whose port it is
   * @param port what it is for: {@code cluster}, {@code line}, {@code management} or {@code gateway}
   * @param address where it is
   * @param open whether it takes connections
   * @param detail why not, empty when it does
   */
  public record NodeLink(String from, String to, String port, String address, boolean open, String detail) {}

  /**
   * The prompts of the latest decisions.
   *
   * @param decisions how many
   * @param shorter of these, the prompts shorter than a block
   * @param blockSize tokens in a block of the shortest of them, or of any
   * @param byText of these, the prompts known by their text only
   */
  public record Prompts(int decisions, int shorter, int blockSize, int byText) {}
}
