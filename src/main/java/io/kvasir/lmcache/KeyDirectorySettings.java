package io.kvasir.lmcache;

import java.util.Map;

/**
 * How the directory of LMCache's coordinator names what the engines store.
 *
 * @param worldSize ranks of an engine that each keep their share of a chunk: tensor times pipeline parallel
 * @param models its engines' name of a model, by the name that requests have, where they differ
 */
public record KeyDirectorySettings(int worldSize, Map<String, String> models) {
  /** Copies the map. */
  public KeyDirectorySettings {
    models = Map.copyOf(models);
  }
}
