package io.kvasir.app.config;

import io.kvasir.telemetry.LogFileSettings;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Reads the file of a log: {@code path}, {@code max-size} and {@code keep} of its section. */
final class LogFileReader {
  private LogFileReader() {}

  /**
   * The file, null where the path is empty.
   *
   * @param example a name, for a path that is a directory
   */
  static @Nullable LogFileSettings read(ConfigSection section, String example) {
    Path path = path(section, example);
    long maxBytes = section.bytes("max-size");
    int keep = section.count("keep", 0, 1000);
    return path == null ? null : new LogFileSettings(path, maxBytes, keep);
  }

  private static @Nullable Path path(ConfigSection section, String example) {
    String text = section.text("path");
    if (text.isBlank()) {
      return null;
    }
    try {
      Path path = Path.of(text);
      if (Files.isDirectory(path)) {
        section.fault("path", "is a directory; name a file in it, such as " + path.resolve(example));
      }
      return path;
    } catch (InvalidPathException invalid) {
      section.fault("path", "is no path of a file: " + invalid.getMessage());
      return null;
    }
  }
}
