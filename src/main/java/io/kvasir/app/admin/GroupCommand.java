package io.kvasir.app.admin;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** A command that does nothing but have others; by itself it explains them. */
@Command(synopsisSubcommandLabel = "COMMAND", mixinStandardHelpOptions = true)
abstract class GroupCommand implements Runnable {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public final void run() {
    spec.commandLine().usage(System.out);
  }
}
