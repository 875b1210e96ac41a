package io.kvasir.app.config;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The version of Kvasir that runs: the build writes it into a resource, so that classes without a jar have it, too. */
public final class BuildVersion {
  private static final String RESOURCE = "version.txt";

  private BuildVersion() {}

  /** The build's version; null when the classes were compiled without the build. */
  public static @Nullable String ofBuild() {
    try (InputStream in = BuildVersion.class.getResourceAsStream(RESOURCE)) {
      if (in == null) {
        throw new IllegalStateException(RESOURCE + " is not beside its reader");
      }
      String version = new String(in.readAllBytes(), StandardCharsets.UTF_8).strip();
      return version.startsWith("$") ? null : version;
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }
}
