package io.kvasir.app.config;

import com.typesafe.config.ConfigIncludeContext;
import com.typesafe.config.ConfigIncluder;
import com.typesafe.config.ConfigIncluderFile;
import com.typesafe.config.ConfigIncluderURL;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigParseable;
import java.io.File;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Notes a file and each that it includes, and how it looks, before it is read; also one that cannot be parsed or is not
 * there: it may be mended, or written. What an include means is the library's to say. One thread.
 */
final class IncludedFiles implements ConfigIncluder, ConfigIncluderFile, ConfigIncluderURL {
  /** What the library tries after a name that ends with none of these. */
  private static final List<String> EXTENSIONS = List.of(".conf", ".json", ".properties");

  private static final String FILE = "file";

  private final Map<Path, String> stamps;
  private final Set<String> missing;
  private final @Nullable ConfigIncluder library;

  /** Notes a file that is about to be read. */
  IncludedFiles(Path file) {
    this(new TreeMap<>(), new TreeSet<>(), null);
    note(file);
  }

  private IncludedFiles(Map<Path, String> stamps, Set<String> missing, @Nullable ConfigIncluder library) {
    this.stamps = stamps;
    this.missing = missing;
    this.library = library;
  }

  /** Those noted so far. */
  FileFingerprints fingerprints() {
    return new FileFingerprints(stamps);
  }

  /** What was included and is not there. */
  MissingIncludes missing() {
    return new MissingIncludes(List.copyOf(missing));
  }

  /** The library gives its own includer so, which notes to these files. */
  @Override
  public ConfigIncluder withFallback(ConfigIncluder fallback) {
    return new IncludedFiles(stamps, missing, library == null ? fallback : library.withFallback(fallback));
  }

  @Override
  public ConfigObject include(ConfigIncludeContext context, String what) {
    ConfigParseable directory = context.relativeTo(".");
    String place = directory == null ? null : directory.origin().filename();
    List<Path> files = List.of();
    if (what.startsWith(FILE + ":")) {
      files = List.of(Path.of(what.substring(FILE.length() + 1)));
    } else if (place != null) {
      // A resource or a page of the web is noted as a file that never is there.
      files = spellings(what).map(Path.of(place).resolveSibling("")::resolve).toList();
    }
    files.forEach(this::note);
    return read(what, files, library().include(context, what));
  }

  @Override
  public ConfigObject includeFile(ConfigIncludeContext context, File what) {
    List<Path> files = spellings(what.getPath()).map(Path::of).toList();
    files.forEach(this::note);
    return read(what.getPath(), files, ((ConfigIncluderFile) library()).includeFile(context, what));
  }

  @Override
  public ConfigObject includeURL(ConfigIncludeContext context, URL what) {
    List<Path> files = what.getProtocol().equals(FILE) ? List.of(Path.of(what.getPath())) : List.of();
    files.forEach(this::note);
    return read(what.toString(), files, ((ConfigIncluderURL) library()).includeURL(context, what));
  }

  private ConfigObject read(String what, List<Path> files, ConfigObject read) {
    if (read.isEmpty() && !files.isEmpty() && files.stream().noneMatch(Files::exists)) {
      missing.add(what);
    }
    return read;
  }

  private static Stream<String> spellings(String name) {
    return EXTENSIONS.stream().anyMatch(name::endsWith)
        ? Stream.of(name)
        : EXTENSIONS.stream().map(extension -> name + extension);
  }

  /** One that is included twice, as it looked before it was read first. */
  private void note(Path file) {
    stamps.computeIfAbsent(file.toAbsolutePath(), FileFingerprints::stamp);
  }

  private ConfigIncluder library() {
    return Objects.requireNonNull(library);
  }
}
