package io.kvasir.discovery;

import java.util.List;

/**
 * The InferencePools whose pods are engines.
 *
 * @param namespaces of the pools; an empty name means all namespaces
 * @param writesStatus whether their status says what became of them
 */
public record PoolSettings(List<String> namespaces, boolean writesStatus) {
  /** Copies the list. */
  public PoolSettings {
    namespaces = List.copyOf(namespaces);
  }
}
