package io.kvasir.prompt;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A model's files: in a directory, or among Kvasir's own resources. */
final class ModelFiles {
  private static final String BUNDLED = "bundled:";

  private final ModelConfig config;

  ModelFiles(ModelConfig config) {
    this.config = config;
  }

  /** The tokenizer.json; null when none is configured. */
  byte @Nullable [] tokenizer() throws IOException {
    return config.tokenizer() != null ? Files.readAllBytes(Path.of(config.tokenizer())) : read("tokenizer.json");
  }

  /** The chat template; null when there is none. */
  @Nullable Rendering rendering() {
    return null;
  }

  /** A file of the directory, null when it is not there. */
  byte @Nullable [] read(String name) throws IOException {
    String directory = config.directory();
    if (directory == null) {
      return null;
    }
    if (directory.startsWith(BUNDLED)) {
      String resource = "/models/" + directory.substring(BUNDLED.length()) + "/" + name;
      try (InputStream in = ModelFiles.class.getResourceAsStream(resource)) {
        return in == null ? null : in.readAllBytes();
      }
    }
    Path file = Path.of(directory).resolve(name);
    return Files.exists(file) ? Files.readAllBytes(file) : null;
  }
}
