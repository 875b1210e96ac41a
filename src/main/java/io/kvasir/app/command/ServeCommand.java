package io.kvasir.app.command;

import io.kvasir.app.config.AccessConfig;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.KvasirConfig.LogConfig;
import io.kvasir.app.config.KvasirConfig.ManagementConfig;
import io.kvasir.app.node.Node;
import io.kvasir.app.node.NodeSupervisor;
import io.kvasir.app.node.StartException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kvasir serve}. */
@Command(
    name = "serve",
    description = "Runs a router node until it is stopped.",
    mixinStandardHelpOptions = true)
public final class ServeCommand implements Callable<Integer> {
  @Option(
      names = "--config",
      required = true,
      paramLabel = "FILE",
      description = "The configuration; the files in conf/defaults show every setting.")
  private Path config = Path.of("");

  @Override
  public Integer call() throws ConfigException, StartException, InterruptedException {
    KvasirConfig valid = KvasirConfig.load(config);
    configureLog(valid.operations().log());
    NodeSupervisor running = new NodeSupervisor(() -> KvasirConfig.load(config), valid);
    Node node = running.node();
    System.out.printf("gateway at %s, management at %s%n", node.gatewayUrl(), node.managementUrl());
    exposure(valid).forEach(System.out::println);
    Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().name("kvasir-stop").unstarted(running::close));
    running.await();
    return 0;
  }

  /** What whoever reaches the ports can do, in plain words; nothing where only holders of keys can do something. */
  static List<String> exposure(KvasirConfig config) {
    List<String> lines = new ArrayList<>();
    AccessConfig access = config.gateway().access();
    if (!access.hasKeys()) {
      lines.add(
          access.open()
              ? "there are no keys, and kvasir.access.open is set: whoever reaches the gateway may use the engines"
              : "there are no keys, so the gateway serves this machine only (\"kvasir keys create\" makes one)");
    }
    ManagementConfig management = config.operations().management();
    if (management.isReachable()) {
      if (!management.keys().isRequired()) {
        lines.add(
            "other machines reach the management port, and there is no admin key: /admin is for this machine only, but"
                + " whoever reaches the port reads metrics, readiness and the cluster's members");
      } else if (management.tls() == null) {
        lines.add(
            "other machines reach the management port, and it has no TLS: admin keys cross the network in the clear;"
                + " set kvasir.management.tls");
      }
    }
    return lines;
  }

  /** Sets the properties that {@code logback.xml} reads when the first logger is made. */
  private static void configureLog(LogConfig log) {
    System.setProperty("kvasir.log.format", log.format().name().toLowerCase(Locale.ROOT));
    System.setProperty("kvasir.log.level", log.level().name());
  }
}
