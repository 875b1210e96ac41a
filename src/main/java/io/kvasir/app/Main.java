package io.kvasir.app;

import io.kvasir.app.admin.AdminCommand;
import io.kvasir.app.admin.AdminFailedException;
import io.kvasir.app.admin.ClusterCommand;
import io.kvasir.app.admin.DoctorCommand;
import io.kvasir.app.admin.KeysCommand;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.command.LabCommand;
import io.kvasir.app.command.PickerCommand;
import io.kvasir.app.command.ReplayCommand;
import io.kvasir.app.command.ServeCommand;
import io.kvasir.app.command.SimCommand;
import io.kvasir.app.command.TrainCommand;
import io.kvasir.app.command.ValidateCommand;
import io.kvasir.app.command.VersionCommand;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.init.InitCommand;
import io.kvasir.app.llmd.LlmdPicker;
import io.kvasir.app.node.StartException;
import io.kvasir.app.top.TopCommand;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

/** The {@code kvasir} command. */
@Command(
    name = "kvasir",
    description = "A KV-cache-aware router for LLM inference.",
    synopsisSubcommandLabel = "COMMAND",
    sortOptions = false,
    mixinStandardHelpOptions = true,
    versionProvider = VersionCommand.class,
    subcommands = {
      DemoCommand.class,
      InitCommand.class,
      ServeCommand.class,
      PickerCommand.class,
      ValidateCommand.class,
      TopCommand.class,
      DoctorCommand.class,
      ClusterCommand.class,
      AdminCommand.class,
      KeysCommand.class,
      SimCommand.class,
      LabCommand.class,
      ReplayCommand.class,
      TrainCommand.class,
      VersionCommand.class
    },
    footer = {
      "",
      "Start with: kvasir demo",
      "In a checkout, kvasir bench measures single parts.",
      "Each command explains itself: kvasir serve --help"
    })
public final class Main implements Runnable {
  private static final int USAGE = 2;

  @Spec private CommandSpec spec = CommandSpec.create();

  private Main() {}

  /** Runs a command and exits with its status: 0 done, 1 failed, 2 not understood. */
  public static void main(String[] args) {
    // Before anything formats a number: headers and requests have ASCII digits, whatever the system's language.
    Locale.setDefault(Locale.ENGLISH);
    System.exit(run(args));
  }

  static int run(String... line) {
    String[] args = LlmdPicker.commandLine(line);
    CommandLine command = new CommandLine(new Main());
    command.setCaseInsensitiveEnumValuesAllowed(true);
    command.setExecutionExceptionHandler(Main::explain);
    command.setParameterExceptionHandler((wrong, _) -> misunderstood(wrong.getCommandLine(), List.of(wrong)));
    // All faults of a command line are reported together, not only the first.
    for (CommandLine each : everyCommand(command)) {
      each.getCommandSpec().parser().collectErrors(true);
    }
    ParseResult parsed = command.parseArgs(args);
    while (parsed.hasSubcommand()) {
      parsed = parsed.subcommand();
    }
    CommandLine selected = parsed.commandSpec().commandLine();
    if (!parsed.errors().isEmpty() && !selected.isUsageHelpRequested()) {
      return misunderstood(selected, parsed.errors());
    }
    return command.execute(args);
  }

  @Override
  public void run() {
    spec.commandLine().usage(System.out);
  }

  private static List<CommandLine> everyCommand(CommandLine root) {
    List<CommandLine> commands = new ArrayList<>();
    commands.add(root);
    root.getSubcommands().values().forEach(child -> commands.addAll(everyCommand(child)));
    return commands;
  }

  private static int misunderstood(CommandLine command, List<Exception> errors) {
    PrintWriter err = command.getErr();
    List<String> missing = new ArrayList<>();
    for (Exception error : errors) {
      // picocli reports a missing parameter again by itself.
      if (!(error instanceof MissingParameterException absent) || isNews(absent, missing)) {
        err.println("kvasir: " + error.getMessage());
      }
    }
    if (errors.get(0) instanceof ParameterException first) {
      CommandLine.UnmatchedArgumentException.printSuggestions(first, err);
    }
    err.println("See: " + command.getCommandSpec().qualifiedName() + " --help");
    return USAGE;
  }

  private static boolean isNews(MissingParameterException absent, List<String> told) {
    List<String> names = absent.getMissing().stream().map(ArgSpec::paramLabel).toList();
    boolean news = !told.containsAll(names);
    told.addAll(names);
    return news;
  }

  /** Prints a command's failure in plain words, with a stack trace only for unforeseen ones. */
  private static int explain(Exception thrown, CommandLine command, ParseResult parsed) {
    PrintWriter err = command.getErr();
    switch (thrown) {
      case ConfigException faulty -> {
        err.printf("kvasir: the configuration has %s:%n", count(faulty.faults().size()));
        faulty.faults().forEach(fault -> err.println("  " + fault));
      }
      case StartException cannot -> err.println("kvasir: " + cannot.getMessage());
      case AdminFailedException not -> err.println("kvasir: " + not.getMessage());
      default -> {
        err.println("kvasir: this should not have happened; please report it.");
        thrown.printStackTrace(err);
      }
    }
    return command.getCommandSpec().exitCodeOnExecutionException();
  }

  private static String count(int faults) {
    return faults == 1 ? "a fault" : faults + " faults";
  }
}
