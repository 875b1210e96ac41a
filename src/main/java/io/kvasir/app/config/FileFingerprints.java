package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigList;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigValue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The files a configuration was read from, and how each looked: when and by what it was last written. Polling is
 * more reliable than notifications, which network file systems and the links of mounted ConfigMaps do not deliver well.
 * An included file of which no value is in use is not among them.
 *
 * @param files what is known of each; of one that cannot be read, nothing
 */
public record FileFingerprints(Map<Path, String> files) {
  private static final String UNREADABLE = "";

  /** Those of no files. */
  public static final FileFingerprints NONE = new FileFingerprints(Map.of());

  /** That of a file alone. */
  public static FileFingerprints of(Path file) {
    return new FileFingerprints(Map.of(file.toAbsolutePath(), UNREADABLE)).reread();
  }

  /** Those of a file and of what it includes, which has been read. */
  static FileFingerprints of(Path file, Config read) {
    Map<Path, String> files = new TreeMap<>();
    files.put(file.toAbsolutePath(), UNREADABLE);
    sources(read.root(), files);
    return new FileFingerprints(files).reread();
  }

  /** The same files' present fingerprints. */
  public FileFingerprints reread() {
    Map<Path, String> stamps = new TreeMap<>();
    files.keySet().forEach(file -> stamps.put(file, stamp(file)));
    return new FileFingerprints(stamps);
  }

  private static void sources(ConfigValue value, Map<Path, String> files) {
    String source = value.origin().filename();
    if (source != null) {
      files.put(Path.of(source), UNREADABLE);
    }
    Collection<ConfigValue> within =
        switch (value) {
          case ConfigObject object -> object.values();
          case ConfigList list -> list;
          default -> List.of();
        };
    within.forEach(part -> sources(part, files));
  }

  private static String stamp(Path file) {
    try {
      BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
      return now.lastModifiedTime() + " " + now.size() + " " + now.fileKey();
    } catch (IOException missing) {
      return UNREADABLE;
    }
  }
}
