package io.kvasir.app.command;

import io.kvasir.app.config.ConfigException;
import io.kvasir.app.node.StartException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kvasir train}, which the launcher and the image's build run. */
@Command(
    name = "train",
    hidden = true,
    description = {
      "Runs nodes and simulated engines under sample requests in one process, for the JVM to learn which classes",
      "are used: with -XX:AOTCacheOutput=FILE it writes an AOT cache, with which Kvasir starts in half the time.",
      "The launcher does so by itself after a build."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    showDefaultValues = true)
public final class TrainCommand implements Callable<Integer> {
  @Option(
      names = "--requests",
      defaultValue = "2000",
      description = "How many requests are sent, so that every class is loaded that they need.")
  private int requests;

  @Option(names = "--seconds", defaultValue = "60", description = "How long they are sent at most.")
  private int seconds;

  @Override
  public Integer call() throws ConfigException, StartException, IOException, InterruptedException {
    System.setProperty("kvasir.log.level", "WARN");
    int answered = new TrainingRun(requests, Duration.ofSeconds(seconds)).run();
    System.out.printf("%d requests were answered%n", answered);
    return 0;
  }
}
