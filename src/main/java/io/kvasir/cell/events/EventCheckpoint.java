package io.kvasir.cell.events;

import org.jspecify.annotations.Nullable;

/**
 * What another applier needs, beside a worker's blocks, to go on with its events where the home before has stopped.
 *
 * @param salts the cache salts of the blocks; owned by the receiver, as the groups are
 * @param groups what a hybrid model's groups hold; null of others, and where it is not known
 */
public record EventCheckpoint(EventSalts salts, @Nullable CacheGroups groups, AppliedPosition position) {
  /**
   * Whether nothing is missing: homes of earlier versions do not pass on what the groups of a hybrid model hold, and
   * blocks that were cut are read anew, since prompts may be cut otherwise here.
   */
  public boolean isWhole() {
    return (!position.hybrid() || groups != null) && !position.cut();
  }
}
