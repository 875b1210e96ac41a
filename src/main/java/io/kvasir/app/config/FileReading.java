package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigIncluder;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What a file and those that it includes were read as, if they could be. Immutable. */
public final class FileReading {
  private final @Nullable Config config;
  private final @Nullable ConfigException fault;
  private final FileFingerprints fingerprints;
  private final MissingIncludes missing;

  private FileReading(@Nullable Config config, @Nullable ConfigException fault, IncludedFiles files) {
    this.config = config;
    this.fault = fault;
    this.fingerprints = files.fingerprints();
    this.missing = files.missing();
  }

  /** Reads a file with what it includes. */
  interface Parser {
    Config parse(Path file, ConfigIncluder included) throws ConfigException;
  }

  static FileReading of(Path file, Parser parser) {
    IncludedFiles files = new IncludedFiles(file);
    try {
      Config config = parser.parse(file, files);
      return new FileReading(config, null, files);
    } catch (ConfigException unreadable) {
      return new FileReading(null, unreadable, files);
    }
  }

  /**
   * Their settings.
   *
   * @throws ConfigException when they could not be parsed
   */
  public Config config() throws ConfigException {
    if (fault != null) {
      throw fault;
    }
    return Objects.requireNonNull(config);
  }

  /**
   * How each looked before it was read, so that what is written meanwhile shows as a change later; also those that
   * could not be parsed.
   */
  public FileFingerprints fingerprints() {
    return fingerprints;
  }

  /** What they include that is not there. */
  public MissingIncludes missing() {
    return missing;
  }
}
