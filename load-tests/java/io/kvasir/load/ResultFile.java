package io.kvasir.load;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The file that {@code --json} names. */
final class ResultFile {
  private ResultFile() {}

  /** Writes the results in the mapper's way, if there is a file to write. */
  static void write(@Nullable Path file, ObjectMapper mapper, List<?> results) {
    if (file == null) {
      return;
    }
    try {
      Files.write(file, mapper.writerWithDefaultPrettyPrinter().writeValueAsBytes(Map.of("results", results)));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write " + file, e);
    }
  }
}
