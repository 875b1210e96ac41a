package io.kvasir.app.command;

import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.Logs;
import io.kvasir.app.node.Node;
import io.kvasir.app.node.NodeSupervisor;
import io.kvasir.app.node.StartException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kvasir serve}. */
@Command(
    name = "serve",
    description = "Runs a router node until it is told to stop.",
    mixinStandardHelpOptions = true)
public final class ServeCommand implements Callable<Integer> {
  @Option(
      names = "--config",
      required = true,
      paramLabel = "FILE",
      description = "The configuration; conf/defaults has every setting.")
  private Path config = Path.of("");

  @Override
  public Integer call() throws ConfigException, StartException, InterruptedException {
    KvasirConfig valid = KvasirConfig.load(config);
    Logs.configure(valid.log());
    NodeSupervisor running = new NodeSupervisor(() -> KvasirConfig.load(config), valid);
    Node node = running.node();
    System.out.printf(
        "gateway at http://%s, management at http://%s%n",
        Addresses.of(node.gateway()), Addresses.of(node.management()));
    Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().name("kvasir-stop").unstarted(running::close));
    running.await();
    return 0;
  }
}
