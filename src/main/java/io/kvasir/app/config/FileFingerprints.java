package io.kvasir.app.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import java.util.TreeMap;

/**
 * The files a configuration was read from, and how each looked: when and by what it was last written. Polling is
 * more reliable than notifications, which network file systems and the links of mounted ConfigMaps do not deliver well.
 *
 * @param files what is known of each; of one that cannot be read, nothing
 */
public record FileFingerprints(Map<Path, String> files) {
  private static final String UNREADABLE = "";

  /** Those of no files. */
  public static final FileFingerprints NONE = new FileFingerprints(Map.of());

  /** Copies the map. */
  public FileFingerprints {
    files = Map.copyOf(files);
  }

  /** That of a file alone. */
  public static FileFingerprints of(Path file) {
    return new FileFingerprints(Map.of(file.toAbsolutePath(), UNREADABLE)).reread();
  }

  /** The same files' present fingerprints. */
  public FileFingerprints reread() {
    Map<Path, String> stamps = new TreeMap<>();
    files.keySet().forEach(file -> stamps.put(file, stamp(file)));
    return new FileFingerprints(stamps);
  }

  /** How a file looks now. */
  static String stamp(Path file) {
    try {
      BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
      return now.lastModifiedTime() + " " + now.size() + " " + now.fileKey();
    } catch (IOException missing) {
      return UNREADABLE;
    }
  }
}
