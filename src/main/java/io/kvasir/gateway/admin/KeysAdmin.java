package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.access.ApiKey;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The administration of clients' keys, on all nodes at once. Thread-safe; a change waits for the other nodes. */
public interface KeysAdmin {
  /** Where a key is from. */
  enum KeySource {
    /** The configuration, {@code kvasir.access.keys}. */
    CONFIGURATION,
    /** The file of keys. */
    FILE,
    /** The admin API. */
    ADMIN
  }

  /** A key as this node knows it. */
  record KnownKey(ApiKey key, KeySource source) {}

  /** One thing wrong with the entry of a key. */
  record EntryFault(String field, String message) {}

  /** The outcome of a change. */
  sealed interface KeyResult {
    /**
     * The change holds on this node.
     *
     * @param key the key after the change
     * @param secret the key's text, of which nothing is kept; null when there is no new one
     * @param warnings what the change lacks, such as a node that could not be reached
     */
    record Done(KnownKey key, @Nullable String secret, List<String> warnings) implements KeyResult {}

    /** There is no key of that id. */
    record Unknown() implements KeyResult {}

    /** The entry is wrong. */
    record Invalid(List<EntryFault> faults) implements KeyResult {}

    /** The change cannot be made as things are. */
    record Conflicting(String why) implements KeyResult {}

    /** The change cannot be made yet. */
    record Unavailable(String why) implements KeyResult {}
  }

  /** All keys, in the order of their ids. */
  List<KnownKey> keys();

  /**
   * Creates a key.
   *
   * @param entry as in a file of keys, in either spelling; without {@code sha256} a text is generated
   */
  KeyResult create(ObjectNode entry);

  /** Has a key refused, or accepted again. */
  KeyResult setDisabled(String id, boolean disabled);

  /**
   * Gives a key a new text.
   *
   * @param overlap how long the text before remains valid
   */
  KeyResult rotate(String id, Duration overlap);

  /** Deletes a key for good; the result has it as it was. */
  KeyResult delete(String id);
}
