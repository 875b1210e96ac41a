package io.kvasir.access.store;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The file in which a node keeps changes of keys. It is replaced whole, so that a crash leaves the old one or the new
 * one, and only its owner may read it. For one thread at a time.
 */
final class KeyChangesFile {
  private static final JsonMapper JSON =
      JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();
  private static final int VERSION = 1;

  private final Path file;

  KeyChangesFile(Path file) {
    this.file = file.toAbsolutePath();
  }

  /** What the file has in it. */
  private record Content(int version, @Nullable List<KeyChange> keys) {}

  /**
   * The changes in the file; none when there is no file yet.
   *
   * @throws IOException when it cannot be read, or is none of these files
   */
  List<KeyChange> read() throws IOException {
    try {
      Content content = JSON.readValue(Files.readAllBytes(file), Content.class);
      if (content.version() != VERSION || content.keys() == null) {
        throw new IOException(file + " is no store of keys that this version of Kvasir can read");
      }
      return content.keys();
    } catch (NoSuchFileException none) {
      return List.of();
    } catch (JsonProcessingException malformed) {
      throw new IOException(file + " is no store of keys: " + malformed.getOriginalMessage(), malformed);
    }
  }

  /** Replaces the file; what was written is on the disk when this returns. */
  void write(Collection<KeyChange> changes) throws IOException {
    byte[] content =
        JSON.writerWithDefaultPrettyPrinter().writeValueAsBytes(new Content(VERSION, List.copyOf(changes)));
    PrivateFile.replace(file, content);
  }

  @Override
  public String toString() {
    return file.toString();
  }
}
