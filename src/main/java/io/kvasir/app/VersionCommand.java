package io.kvasir.app;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;

/** {@code kvasir version}. */
@Command(name = "version", description = "Prints the version of Kvasir and of the JDK it runs on.")
final class VersionCommand implements Runnable, IVersionProvider {
  @Override
  public void run() {
    System.out.println(getVersion()[0]);
  }

  @Override
  public String[] getVersion() {
    String version = version();
    return new String[] {
      "kvasir " + (version == null ? "(unpackaged)" : version) + ", JDK " + Runtime.version()
    };
  }

  /** Of the jar, null when the classes are in none. */
  static @Nullable String version() {
    return VersionCommand.class.getPackage().getImplementationVersion();
  }
}
