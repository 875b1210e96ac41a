package io.kvasir.app.command;

import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.llmd.LlmdPicker;
import io.kvasir.app.node.StartException;
import io.kvasir.llmd.PickerArgument;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.IModelTransformer;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code kvasir picker}. */
@Command(
    name = "picker",
    description = {
      "Runs a router node as the endpoint picker of a Kubernetes gateway, with the arguments of llm-d's picker.",
      "A container that is started with such arguments and without a command runs this one, so that a Deployment of",
      "llm-d's picker needs another image and nothing else."
    },
    modelTransformer = PickerCommand.Arguments.class,
    sortOptions = false,
    abbreviateSynopsis = true,
    usageHelpWidth = 110,
    mixinStandardHelpOptions = true)
public final class PickerCommand implements Callable<Integer> {
  @Option(
      names = "--config",
      paramLabel = "FILE",
      description = "Settings of Kvasir's own, which go before what the arguments of llm-d's picker say.")
  private @Nullable Path config;

  @Option(
      names = "--print",
      description = "Prints the configuration that the arguments stand for, in place of running it.")
  private boolean print;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws ConfigException, StartException, InterruptedException {
    LlmdPicker picker = LlmdPicker.of(given(), System.getenv());
    if (print) {
      System.out.print(picker.text());
    }
    picker.losses().forEach(print ? System.err::println : System.out::println);
    KvasirConfig valid = configuration(picker);
    return print ? 0 : ServeCommand.run(valid, () -> configuration(picker));
  }

  /** What the arguments say, and before it what the file has now. */
  KvasirConfig configuration(LlmdPicker picker) throws ConfigException {
    return config == null ? KvasirConfig.of(picker.config()) : KvasirConfig.load(config, picker.config());
  }

  private Map<PickerArgument, String> given() {
    Map<PickerArgument, String> given = new EnumMap<>(PickerArgument.class);
    for (PickerArgument argument : PickerArgument.values()) {
      String value = spec.commandLine().getParseResult().matchedOptionValue(argument.flag(), (String) null);
      if (value != null) {
        given.put(argument, value);
      }
    }
    return given;
  }

  /** Adds the arguments of llm-d's picker to the command's options. */
  static final class Arguments implements IModelTransformer {
    @Override
    public CommandSpec transform(CommandSpec command) {
      for (PickerArgument argument : PickerArgument.values()) {
        OptionSpec.Builder option =
            OptionSpec.builder(argument.flag())
                .type(String.class)
                .paramLabel(argument.isSwitch() ? "true|false" : argument.valueName())
                .description(argument.verdict().words() + ": " + argument.sentence());
        if (argument.isSwitch()) {
          option.arity("0..1").fallbackValue("true");
        }
        if (argument == PickerArgument.V) {
          option.names("-v", argument.flag());
        }
        command.addOption(option.build());
      }
      return command;
    }
  }
}
