package io.kvasir.app.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.access.ApiKey;
import io.kvasir.access.KeyDigest;
import io.kvasir.access.KeySecrets;
import io.kvasir.access.store.PrivateFile;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KeyEntryReader;
import io.kvasir.gateway.admin.KeysAdmin;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A file of keys that is edited without a router, which reloads it. It is written as JSON; one with comments or
 * includes is listed but not rewritten, since it would lose them. For one thread.
 */
final class KeysFile implements KeysAdmin {
  private static final JsonMapper JSON =
      JsonMapper.builder().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();
  private static final String KEYS = "keys";
  private static final String ID = "id";
  private static final String DIGEST = "sha256";
  private static final String PREVIOUS = "previous";
  private static final String DISABLED = "disabled";

  private final Path file;
  private final InstantSource clock;
  private final KeyEntryReader reader = KeyEntryReader.withoutTenants();

  KeysFile(Path file, InstantSource clock) {
    this.file = file;
    this.clock = clock;
  }

  @Override
  public List<KnownKey> keys() {
    try {
      return reader.keys(KeyEntryReader.parse(file)).stream().map(key -> new KnownKey(key, KeySource.FILE)).toList();
    } catch (ConfigException faulty) {
      throw new UneditableException(String.valueOf(faulty.getMessage()));
    }
  }

  @Override
  public KeyResult create(ObjectNode given) {
    ObjectNode entry = given.deepCopy();
    String secret = entry.has(DIGEST) ? null : KeySecrets.generate();
    if (secret != null) {
      entry.put(DIGEST, KeyDigest.of(secret).hex());
    }
    try {
      ObjectNode written = (ObjectNode) JSON.readTree(reader.readJson(entry));
      ObjectNode content = read();
      if (find(content, written.path(ID).asText()) != null) {
        return new KeyResult.Conflicting("%s has a key '%s' already; choose another id, or rotate it"
            .formatted(file, written.path(ID).asText()));
      }
      content.withArray(KEYS).add(written);
      return write(content, written, secret);
    } catch (ConfigException faulty) {
      return new KeyResult.Invalid(
          faulty.faults().stream().map(fault -> new EntryFault(fault.path(), fault.problem())).toList());
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException("an entry that was read is no JSON", impossible);
    }
  }

  @Override
  public KeyResult setDisabled(String id, boolean disabled) {
    ObjectNode content = read();
    ObjectNode entry = find(content, id);
    if (entry == null) {
      return new KeyResult.Unknown();
    }
    if (disabled) {
      entry.put(DISABLED, true);
    } else {
      entry.remove(DISABLED);
    }
    return write(content, entry, null);
  }

  @Override
  public KeyResult rotate(String id, Duration overlap) {
    ObjectNode content = read();
    ObjectNode entry = find(content, id);
    if (entry == null) {
      return new KeyResult.Unknown();
    }
    String secret = KeySecrets.generate();
    String before = entry.path(DIGEST).asText();
    entry.put(DIGEST, KeyDigest.of(secret).hex());
    entry.remove(PREVIOUS);
    if (overlap.isPositive()) {
      entry.putObject(PREVIOUS).put(DIGEST, before).put("not-after", clock.instant().plus(overlap).toString());
    }
    return write(content, entry, secret);
  }

  @Override
  public KeyResult delete(String id) {
    ObjectNode content = read();
    ObjectNode entry = find(content, id);
    if (entry == null) {
      return new KeyResult.Unknown();
    }
    ArrayNode keys = content.withArray(KEYS);
    keys.removeIf(entry::equals);
    return write(content, entry, null);
  }

  private ObjectNode read() {
    try {
      JsonNode content = JSON.readTree(Files.readAllBytes(file));
      if (content instanceof ObjectNode object && object.path(KEYS).isArray()) {
        return object;
      }
    } catch (NoSuchFileException none) {
      ObjectNode content = JSON.createObjectNode();
      content.putArray(KEYS);
      return content;
    } catch (JsonProcessingException other) {
      // HOCON, refused below.
    } catch (IOException unreadable) {
      throw new UneditableException(file + " cannot be read: " + unreadable.getMessage());
    }
    throw new UneditableException(
        file + " is not plain JSON with a list of keys: rewriting it would lose its comments; edit it by hand"
            + " (kvasir keys digest gives the sha256 of a key), or name another file, which it may include");
  }

  private static @Nullable ObjectNode find(ObjectNode content, String id) {
    for (JsonNode entry : content.withArray(KEYS)) {
      if (entry instanceof ObjectNode object && object.path(ID).asText().equals(id)) {
        return object;
      }
    }
    return null;
  }

  /** Writes the file, unless the entry that was changed is faulty. */
  private KeyResult write(ObjectNode content, ObjectNode entry, @Nullable String secret) {
    try {
      ApiKey key = reader.readStored(entry.toString());
      PrivateFile.replace(file, (content.toPrettyString() + "\n").getBytes(StandardCharsets.UTF_8));
      return new KeyResult.Done(new KnownKey(key, KeySource.FILE), secret, List.of());
    } catch (ConfigException faulty) {
      throw new UneditableException(file + " has faults, and is not changed: " + faulty.getMessage());
    } catch (NoSuchFileException | AccessDeniedException refused) {
      throw new UneditableException(file + " cannot be written; does its directory exist, and may you write there?");
    } catch (IOException failed) {
      throw new UneditableException(file + " cannot be written: " + failed.getMessage());
    }
  }
}
