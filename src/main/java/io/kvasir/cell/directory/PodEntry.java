package io.kvasir.cell.directory;

import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import org.jspecify.annotations.Nullable;

/**
 * A pod as the directory replicates it.
 *
 * @param spec the operator's description
 * @param drained whether it was drained by an operator: it gets nothing new, whatever its source declares
 * @param source where it was declared; null from a node that does not know sources yet
 * @param withheld whether its source gives it nothing new for now
 * @param placement the cell it was given, and stays in; null from a node that knows one cell per model only
 */
public record PodEntry(
    PodSpec spec,
    boolean drained,
    @Nullable PodSource source,
    boolean withheld,
    @Nullable Placement placement)
    implements ClusterMessage {
  /** A pod that has no cell yet. */
  public PodEntry(PodSpec spec, PodSource source) {
    this(spec, false, source, false, null);
  }

  /** Whether it gets nothing new. */
  public boolean draining() {
    return drained || withheld;
  }

  /** The model group: pods of the same base model can serve the same requests. */
  String group() {
    return spec.models().iterator().next();
  }

  /** The pod's cell. */
  public String cell() {
    return placement == null ? Placement.cell(group(), 1) : placement.cell();
  }

  /** The same pod by another description. */
  PodEntry describedAs(PodSpec now) {
    return new PodEntry(now, drained, source, withheld, placement);
  }

  /** The same pod, drained. */
  PodEntry asDrained() {
    return new PodEntry(spec, true, source, withheld, placement);
  }

  /** The same pod, not drained. */
  PodEntry asUndrained() {
    return new PodEntry(spec, false, source, withheld, placement);
  }

  /** The same pod in a cell. */
  PodEntry placedIn(Placement given) {
    return new PodEntry(spec, drained, source, withheld, given);
  }
}
