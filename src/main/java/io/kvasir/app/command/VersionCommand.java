package io.kvasir.app.command;

import io.kvasir.app.config.BuildVersion;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;

/** {@code kvasir version}. */
@Command(
    name = "version",
    description = "Prints the version of Kvasir and of the JDK it runs on.",
    mixinStandardHelpOptions = true,
    versionProvider = VersionCommand.class)
public final class VersionCommand implements Runnable, IVersionProvider {
  @Override
  public void run() {
    System.out.println(getVersion()[0]);
  }

  @Override
  public String[] getVersion() {
    String version = BuildVersion.ofBuild();
    return new String[] {
      "kvasir " + (version == null ? "(not built by Maven)" : version) + ", JDK " + Runtime.version()
    };
  }
}
