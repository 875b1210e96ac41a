package io.kvasir.app.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.access.ApiKey;
import io.kvasir.access.KeyDigest;
import io.kvasir.access.KeySecrets;
import io.kvasir.access.store.ChangeResult;
import io.kvasir.access.store.KeyChange;
import io.kvasir.access.store.KeyStore;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KeyEntryReader;
import io.kvasir.gateway.admin.KeysAdmin;
import io.kvasir.telemetry.Problem;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Changes keys on behalf of administrators: what is in a file can be disabled here, and only changed there. */
final class KeysAdministration implements KeysAdmin {
  private static final JsonMapper JSON = new JsonMapper();
  private static final String DIGEST = "sha256";
  private static final String PREVIOUS = "previous";
  private static final String DISABLED = "disabled";

  /** Above what an entry with long lists of models needs. */
  private static final int MAX_ENTRY_LENGTH = 16 << 10;

  private final KeyCatalog catalog;
  private final KeyStore store;
  private final KeyEntryReader reader;
  private final Supplier<List<Problem>> shortcomings;
  private final InstantSource clock;

  /**
   * The administration of a node's keys.
   *
   * @param shortcomings why changes may not last
   */
  KeysAdministration(
      KeyCatalog catalog,
      KeyStore store,
      KeyEntryReader reader,
      Supplier<List<Problem>> shortcomings,
      InstantSource clock) {
    this.catalog = catalog;
    this.store = store;
    this.reader = reader;
    this.shortcomings = shortcomings;
    this.clock = clock;
  }

  @Override
  public List<KnownKey> keys() {
    return List.copyOf(catalog.keys().values());
  }

  @Override
  public synchronized KeyResult create(ObjectNode given) {
    ObjectNode entry = given.deepCopy();
    String secret = entry.has(DIGEST) ? null : KeySecrets.generate();
    if (secret != null) {
      entry.put(DIGEST, KeyDigest.of(secret).hex());
    }
    try {
      ApiKey key = reader.readStored(reader.readJson(entry));
      // Whether it is disabled is the change's to say, so that it can be enabled.
      entry.remove(DISABLED);
      String json = reader.readJson(entry);
      if (json.length() > MAX_ENTRY_LENGTH) {
        return new KeyResult.Invalid(List.of(new EntryFault(
            "body", "is longer than %d characters; name models by their beginnings".formatted(MAX_ENTRY_LENGTH))));
      }
      KeyChange before = catalog.change(key.id());
      if (catalog.key(key.id()) != null || before.deleted()) {
        return new KeyResult.Conflicting(
            before.deleted()
                ? "a key '%s' was deleted, and its id is not used again; choose another".formatted(key.id())
                : "there is a key '%s' already; choose another id, or rotate it".formatted(key.id()));
      }
      if (catalog.keys().values().stream().anyMatch(known -> known.key().digest().equals(key.digest()))) {
        return new KeyResult.Conflicting("another key has this sha256; give each key a text of its own");
      }
      long now = clock.millis();
      KeyChange change = before.withEntry(json, now);
      return changed(key.disabled() ? change.withDisabled(true, now) : change, secret);
    } catch (ConfigException faulty) {
      return new KeyResult.Invalid(
          faulty.faults().stream().map(fault -> new EntryFault(fault.path(), fault.problem())).toList());
    }
  }

  @Override
  public synchronized KeyResult setDisabled(String id, boolean disabled) {
    KnownKey known = catalog.key(id);
    if (known == null) {
      return new KeyResult.Unknown();
    }
    KeyChange before = catalog.change(id);
    if (!disabled && known.key().disabled() && !before.disabled()) {
      return new KeyResult.Conflicting(inFile(known, "is disabled", "enable it there"));
    }
    return changed(before.withDisabled(disabled, clock.millis()), null);
  }

  @Override
  public synchronized KeyResult rotate(String id, Duration overlap) {
    KnownKey known = catalog.key(id);
    if (known == null) {
      return new KeyResult.Unknown();
    }
    if (known.source() != KeySource.ADMIN) {
      return new KeyResult.Conflicting(inFile(known, "is", "rotate it there, with kvasir keys rotate --file"));
    }
    KeyChange before = catalog.change(id);
    try {
      ObjectNode entry = (ObjectNode) JSON.readTree(before.entry());
      String secret = KeySecrets.generate();
      entry.put(DIGEST, KeyDigest.of(secret).hex());
      entry.remove(PREVIOUS);
      if (overlap.isPositive()) {
        entry.putObject(PREVIOUS)
            .put(DIGEST, known.key().digest().hex())
            .put("not-after", clock.instant().plus(overlap).toString());
      }
      return changed(before.withEntry(entry.toString(), clock.millis()), secret);
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException("an entry that was read is no JSON", impossible);
    }
  }

  @Override
  public synchronized KeyResult delete(String id) {
    KnownKey known = catalog.key(id);
    if (known == null) {
      return new KeyResult.Unknown();
    }
    if (known.source() != KeySource.ADMIN) {
      return new KeyResult.Conflicting(inFile(known, "is", "delete it there, or disable it here"));
    }
    KeyResult result = changed(catalog.change(id).asDeleted(clock.millis()), null);
    return result instanceof KeyResult.Unknown ? done(known, null, ChangeResult.DONE) : result;
  }

  /** Replicates a change, and finds its key as it is then. */
  private KeyResult changed(KeyChange change, @Nullable String secret) {
    ChangeResult result;
    try {
      result = store.change(change).toCompletableFuture().join();
    } catch (CompletionException late) {
      return new KeyResult.Unavailable("the change was not confirmed in time; see whether it holds, and repeat it");
    }
    return switch (result) {
      case DONE, UNCONFIRMED -> {
        KnownKey known = catalog.key(change.id());
        yield known == null ? new KeyResult.Unknown() : done(known, secret, result);
      }
      case NOT_READY ->
          new KeyResult.Unavailable("this node does not know the keys of the others yet; see /ready, and try again");
      case FULL ->
          new KeyResult.Conflicting("there are too many keys for the admin API; put them into a file, keys-file");
    };
  }

  private KeyResult done(KnownKey key, @Nullable String secret, ChangeResult result) {
    List<String> warnings = new ArrayList<>(shortcomings.get().stream().map(Problem::line).toList());
    if (result == ChangeResult.UNCONFIRMED) {
      warnings.add("another node has not confirmed the change yet; it gets it as soon as it can be reached");
    }
    return new KeyResult.Done(key, secret, warnings);
  }

  private static String inFile(KnownKey known, String state, String remedy) {
    String where =
        known.source() == KeySource.FILE ? "the file of keys (kvasir.access.keys-file)" : "kvasir.access.keys";
    return "the key '%s' %s in %s; %s".formatted(known.key().id(), state, where, remedy);
  }
}
