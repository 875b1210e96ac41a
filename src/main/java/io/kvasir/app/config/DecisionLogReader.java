package io.kvasir.app.config;

import io.kvasir.telemetry.DecisionLogSettings;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.decisions}: how decisions are recorded. */
final class DecisionLogReader {
  private DecisionLogReader() {}

  static DecisionLogSettings read(ConfigSection section) {
    DecisionLogSettings settings =
        new DecisionLogSettings(
            path(section),
            section.share("sample"),
            section.bytes("max-size"),
            section.count("keep", 0, 1000),
            section.count("recent", 1, 100_000));
    section.rejectUnread();
    return settings;
  }

  private static @Nullable Path path(ConfigSection section) {
    String text = section.text("path");
    if (text.isBlank()) {
      return null;
    }
    try {
      Path path = Path.of(text);
      if (Files.isDirectory(path)) {
        section.fault("path", "is a directory; name a file in it, such as " + path.resolve("decisions.jsonl"));
      }
      return path;
    } catch (InvalidPathException invalid) {
      section.fault("path", "is no path of a file: " + invalid.getMessage());
      return null;
    }
  }
}
