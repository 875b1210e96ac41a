package io.kvasir.app.command;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.AccessConfig;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.KvasirConfig.LogConfig;
import io.kvasir.app.config.KvasirConfig.ManagementConfig;
import io.kvasir.app.config.MemoryPlan;
import io.kvasir.app.init.FleetOptions;
import io.kvasir.app.init.LearntConfiguration;
import io.kvasir.app.node.CompilerSlices;
import io.kvasir.app.node.HeapRelease;
import io.kvasir.app.node.Node;
import io.kvasir.app.node.NodeSupervisor;
import io.kvasir.app.node.StartException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code kvasir serve}. */
@Command(
    name = "serve",
    description = {
      "Runs a router node until it is stopped: with a configuration, or for engines that are asked what they are."
    },
    sortOptions = false,
    mixinStandardHelpOptions = true)
public final class ServeCommand implements Callable<Integer> {
  @Option(
      names = "--config",
      paramLabel = "FILE",
      description = "The configuration; the files in conf/defaults show every setting.")
  private @Nullable Path config;

  @Option(
      names = "--engine",
      paramLabel = "URL",
      description = {
        "Instead of a configuration: an engine, which is asked what it is, as kvasir init does; one that is for",
        "prefill or for decode only as URL,role=prefill or URL,role=decode. Several with --engine URL --engine URL."
      })
  private List<String> engines = List.of();

  @Option(names = "--port", paramLabel = "PORT", description = "With --engine: the gateway's port; 0 for a free one.")
  private @Nullable Integer port;

  @Option(
      names = "--management-port",
      paramLabel = "PORT",
      description = "With --engine: management's port; 0 for a free one.")
  private @Nullable Integer managementPort;

  @Mixin private FleetOptions fleet = new FleetOptions();

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws ConfigException, StartException, InterruptedException {
    Path file = config;
    if (file == null) {
      KvasirConfig learnt = learnt();
      return run(learnt, () -> learnt);
    }
    if (!engines.isEmpty() || port != null || managementPort != null || fleet.isAny()) {
      throw new ParameterException(
          spec.commandLine(),
          "--config has the engines and ports; --engine and what goes with it are for running without a file");
    }
    return run(KvasirConfig.load(file), () -> KvasirConfig.load(file));
  }

  private KvasirConfig learnt() throws ConfigException, StartException, InterruptedException {
    if (engines.isEmpty()) {
      throw new ParameterException(
          spec.commandLine(), "Missing: --config FILE, or --engine URL to run without a configuration");
    }
    LearntConfiguration configuration = fleet.learn(engines);
    configuration.summary().forEach(System.out::println);
    Map<String, Integer> ports = new HashMap<>();
    if (port != null) {
      ports.put("kvasir.gateway.port", port);
    }
    if (managementPort != null) {
      ports.put("kvasir.management.port", managementPort);
    }
    Config learnt = ConfigFactory.parseString(configuration.text());
    return KvasirConfig.of(ConfigFactory.parseMap(ports, "the command line").withFallback(learnt));
  }

  /** Runs nodes, the first with this configuration and each after it with the one that then is. */
  static int run(KvasirConfig valid, Callable<KvasirConfig> configuration)
      throws StartException, InterruptedException {
    configureLog(valid.operations().log());
    NodeSupervisor running = new NodeSupervisor(configuration, valid);
    Node node = running.node();
    System.out.printf("gateway at %s, management at %s%n", node.gatewayUrl(), node.managementUrl());
    System.out.println(MemoryPlan.of(valid));
    exposure(valid).forEach(System.out::println);
    Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().name("kvasir-stop").unstarted(running::close));
    HeapRelease.start();
    CompilerSlices.start();
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
