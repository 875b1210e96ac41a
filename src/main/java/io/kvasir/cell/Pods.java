package io.kvasir.cell;

import java.util.List;

/**
 * The pods of the cluster's roster, from which cells have their workers. Reading is from this node's memory and never
 * waits; changes wait for this node's directory, for some seconds at most. Thread-safe.
 */
public interface Pods {
  /** The result of taking a drain back. */
  enum UndrainResult {
    /** The pod gets requests again. */
    DONE,
    /** Its source withholds it: it was not drained, and goes on to get nothing new. */
    WITHHELD,
    /** There is no such pod. */
    UNKNOWN
  }

  /** All of them. */
  List<PodSpec> all();

  /** Those of a source. */
  List<PodSpec> of(PodSource source);

  /** The same as the source declared them last, on whichever node it was read. */
  List<DiscoveredPod> declaredBy(PodSource source);

  /**
   * Adds a pod's workers (one per rank).
   *
   * @throws IllegalArgumentException when the pod's name is taken or the cells are full; the message has the
   *     reason and the remedy
   */
  void add(PodSpec pod);

  /**
   * Makes the pods of a source exactly these: new ones are added, changed ones replaced and missing ones removed
   * (requests in flight end as they would). Idempotent. A pod that the admin API drained stays drained.
   *
   * @return what was refused, in plain words, such as a name that a pod of another source has; empty if nothing was
   */
  List<String> declare(PodSource source, List<DiscoveredPod> pods);

  /** Adds a pod of this node's configuration, unless one of its name is known. Does not wait. */
  void announce(PodSpec pod);

  /**
   * Puts another description of a pod in the place of one that turned out to be out of date. Workers whose engine is
   * another than it was begin with an empty index.
   *
   * @return whether that was still the pod's description
   */
  boolean replace(PodSpec before, PodSpec after);

  /** Lets a pod finish what it has and gives it nothing new; false when there is no such pod. */
  boolean drain(String pod);

  /** Gives a pod requests again that was {@linkplain #drain drained}. */
  UndrainResult undrain(String pod);

  /** Removes a pod's workers at once; false when there is no such pod. */
  boolean remove(String pod);
}
