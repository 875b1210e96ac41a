package io.kvasir.app.command;

import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kvasir validate}. */
@Command(
    name = "validate",
    description = "Checks a configuration whole and lists every fault with its file and line.",
    mixinStandardHelpOptions = true)
public final class ValidateCommand implements Callable<Integer> {
  @Option(names = "--config", required = true, paramLabel = "FILE", description = "The file to check.")
  private Path config = Path.of("");

  @Override
  public Integer call() throws ConfigException {
    KvasirConfig valid = KvasirConfig.load(config);
    System.out.printf(
        "%s is valid: %d models, %d pods, default profile %s%n",
        config, valid.prompts().models().size(), valid.fleet().pods().size(), valid.routing().profile());
    return 0;
  }
}
