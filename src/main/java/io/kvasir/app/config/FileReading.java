package io.kvasir.app.config;

import com.typesafe.config.Config;
import java.nio.file.Path;

/**
 * What a file and those that it includes were read as. Immutable.
 *
 * @param config their settings
 * @param fingerprints how each looked before it was read, so that what is written meanwhile shows as a change later
 */
public record FileReading(Config config, FileFingerprints fingerprints) {
  /** Reads a file with what it includes. */
  interface Parser {
    Config parse(Path file) throws ConfigException;
  }

  /** Reads a file, and again where it includes others: only then they are known, and how they look before. */
  static FileReading of(Path file, Parser parser) throws ConfigException {
    FileFingerprints before = FileFingerprints.of(file);
    while (true) {
      Config config = parser.parse(file);
      FileFingerprints after = FileFingerprints.of(file, config);
      if (before.files().keySet().containsAll(after.files().keySet())) {
        return new FileReading(config, before);
      }
      before = after;
    }
  }
}
