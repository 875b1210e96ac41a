package io.kvasir.load.index;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** {@code ./kvasir bench}: measurements of single parts, on the machine it is called on. */
@Command(
    name = "kvasir bench",
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    description = "Measures a part of Kvasir on this machine.",
    subcommands = IndexBench.class)
public final class Bench implements Runnable {
  private Bench() {}

  /** Runs the command line and exits: 0 when done, 1 when an answer was wrong, 2 for a faulty command line. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new Bench()).execute(args));
  }

  @Override
  public void run() {
    CommandLine.usage(this, System.out);
  }
}
