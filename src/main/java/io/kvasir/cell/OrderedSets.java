package io.kvasir.cell;

import com.fasterxml.jackson.databind.module.SimpleModule;
import java.io.Serial;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Has sets that cross the cluster arrive in the order in which they were sent: the first of a pod's models names its
 * cell, on every node the same. Named in the serializer's configuration.
 */
public final class OrderedSets extends SimpleModule {
  @Serial private static final long serialVersionUID = 1;

  /** The module. */
  public OrderedSets() {
    addAbstractTypeMapping(Set.class, LinkedHashSet.class);
  }
}
