package io.kvasir.access.store;

import org.jspecify.annotations.Nullable;

/**
 * What the admin API has changed of a key, in all: it replaces what was known before. Crosses between nodes, and holds
 * digests of keys but never a key. Immutable.
 *
 * @param id the key's
 * @param entry the key's entry as a file of keys has it, in JSON; empty for a key that is in a file
 * @param entryTime when the entry was written, in milliseconds since 1970, later than every entry before it
 * @param disabled whether the key is refused, whatever the file says
 * @param deleted whether the entry was deleted, for good: its id is not used again
 * @param stateTime when the key was disabled, enabled or deleted, in milliseconds since 1970, later than before
 */
public record KeyChange(
    String id, String entry, long entryTime, boolean disabled, boolean deleted, long stateTime) {
  /** An entry of an earlier version may miss its text. */
  @SuppressWarnings("NullAway") // what is missing in a message is null
  public KeyChange {
    id = id == null ? "" : id;
    entry = entry == null ? "" : entry;
  }

  /** A key that is not changed yet. */
  public static KeyChange of(String id) {
    return new KeyChange(id, "", 0, false, false, 0);
  }

  /** The same with another entry. */
  public KeyChange withEntry(String json, long now) {
    return new KeyChange(id, json, Math.max(now, entryTime + 1), disabled, deleted, stateTime);
  }

  /** The same, refused or not. */
  public KeyChange withDisabled(boolean refused, long now) {
    return new KeyChange(id, entry, entryTime, refused, deleted, Math.max(now, stateTime + 1));
  }

  /** The same without its entry, for good. */
  public KeyChange asDeleted(long now) {
    return new KeyChange(id, "", entryTime, true, true, Math.max(now, stateTime + 1));
  }

  /**
   * Both changes in one: the later entry, and the later state. Of two at the same time, disabled wins; deleted always
   * does. Commutative, associative and idempotent.
   */
  KeyChange merge(@Nullable KeyChange other) {
    if (other == null || other.equals(this)) {
      return this;
    }
    boolean gone = deleted || other.deleted;
    boolean ownEntry = entryTime > other.entryTime
        || (entryTime == other.entryTime && entry.compareTo(other.entry) >= 0);
    boolean refused = stateTime == other.stateTime ? disabled || other.disabled
        : stateTime > other.stateTime ? disabled : other.disabled;
    return new KeyChange(
        id,
        gone ? "" : ownEntry ? entry : other.entry,
        Math.max(entryTime, other.entryTime),
        gone || refused,
        gone,
        Math.max(stateTime, other.stateTime));
  }
}
