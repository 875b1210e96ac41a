package io.kvasir.load;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of load tests before a {@link TenantFleet}. */
final class TenantFleetOptions {
  @Option(names = "--seconds", description = "How long each load is measured, ${DEFAULT-VALUE}.")
  private int seconds;

  @Option(names = "--engine", description = "Coefficients of the engines, ${DEFAULT-VALUE}.")
  private String engine = "a100-Qwen2.5-14B-tp1";

  @Option(names = "--slots", description = "Requests that an engine runs at a time, ${DEFAULT-VALUE}.")
  private int slots;

  @Option(names = "--launcher", description = "What starts a node, ${DEFAULT-VALUE}.")
  private Path launcher = Path.of("./kvasir");

  @Option(names = "--json", description = "Writes the results there, too.")
  private @Nullable Path json;

  /** Options with these defaults. */
  TenantFleetOptions(int seconds, int slots) {
    this.seconds = seconds;
    this.slots = slots;
  }

  int seconds() {
    return seconds;
  }

  String engine() {
    return engine;
  }

  int slots() {
    return slots;
  }

  Path launcher() {
    return launcher.toAbsolutePath();
  }

  /** Where the results go, too; null for nowhere. */
  @Nullable Path json() {
    return json;
  }
}
