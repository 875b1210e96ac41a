package io.kvasir.app.config;

import com.typesafe.config.Config;
import java.nio.file.Path;

/**
 * The file that a configuration was read from, which can be read again. Immutable.
 *
 * @param path where it is
 * @param given what a command says beside it; settings of the file go before
 * @param fingerprints how it and what it includes looked before they were read
 * @param missing what it includes that was not there
 */
public record OperatorFile(Path path, Config given, FileFingerprints fingerprints, MissingIncludes missing) {
  /** Reads it as it is now, over what the command says and the defaults, resolved. */
  public FileReading read() {
    return ConfigFiles.load(path, given);
  }
}
