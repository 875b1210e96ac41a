package io.kvasir.load;

import io.kvasir.sim.SimEngine;
import io.kvasir.sim.core.EngineStats;
import io.kvasir.sim.lmcache.ControllerAddress;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.HostTierSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Simulated engines in this process, a router and the stand-in for LMCache's controller in processes of their own, all
 * on loopback. Closing it stops them all.
 */
final class LmcacheFleet implements AutoCloseable {
  private static final Path LAUNCHER = Path.of("./kvasir").toAbsolutePath();
  private static final String LOOKUPS = "kvasir_lmcache_lookups_total{";
  private static final List<String> ANSWERED =
      List.of("\"answered\"", "\"remembered\"", "\"shared\"", "\"no_tokens\"", "\"nothing_to_ask\"");
  private static final int ENGINES = 4;
  private static final int MAX_IN_FLIGHT = 64;
  private static final Duration HEARTBEAT = Duration.ofMillis(500);
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final Path work;
  private final int controllerPort = Ports.free();
  private final int heartbeatPort = Ports.free();
  private final ControllerAddress workerAddress =
      new ControllerAddress("127.0.0.1", Ports.free(), Ports.free());
  private final List<SimEngine> engines = new ArrayList<>();
  private final RouterNodes router;
  private @Nullable ChildProcess controller;

  /**
   * What the engines run on.
   *
   * @param engine name of their latency coefficients
   * @param blocks on the device
   * @param hostBlocks in host memory
   */
  record Hardware(String engine, int blocks, int hostBlocks) {}

  /** Starts everything; {@code work} is where logs go. */
  LmcacheFleet(Path work, String profile, Hardware hardware) throws IOException {
    this.work = work;
    try {
      startController();
      for (int i = 0; i < ENGINES; i++) {
        engines.add(SimEngine.start(engine(i, hardware)));
      }
      router =
          new RouterNodes(
              LAUNCHER, work, 1, 1, engines, MAX_IN_FLIGHT, configuration(profile, hardware), new LoopbackNetwork(1));
    } catch (IOException | RuntimeException e) {
      engines.forEach(SimEngine::close);
      killController();
      throw e;
    }
  }

  /** Waits until the router has every engine and the controller listens. */
  void awaitReady() throws IOException, InterruptedException {
    router.awaitReady(router.all().getFirst(), ENGINES);
    if (controller != null) {
      controller.awaitPort(controllerPort, TIMEOUT);
    }
  }

  URI chat() {
    return router.all().getFirst().gateway("/v1/chat/completions");
  }

  /** What all engines together have done. */
  EngineStats stats() {
    return engines.stream()
        .map(SimEngine::stats)
        .reduce(
            (a, b) ->
                new EngineStats(
                    a.running() + b.running(),
                    a.waiting() + b.waiting(),
                    a.queriedTokens() + b.queriedTokens(),
                    a.hitTokens() + b.hitTokens(),
                    a.hostHitTokens() + b.hostHitTokens()))
        .orElseThrow();
  }

  /** Lookups that the router's decisions had to do without. */
  int unansweredLookups() {
    double sum = 0;
    for (String line : router.metrics(router.all().getFirst()).split("\n", -1)) {
      if (line.startsWith(LOOKUPS) && ANSWERED.stream().noneMatch(line::contains)) {
        sum += Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1));
      }
    }
    return (int) sum;
  }

  /** Starts the controller, empty, at the same ports as ever. */
  void startController() throws IOException {
    controller =
        ChildProcess.quiet(
            "controller",
            work.resolve("controller.log"),
            List.of(
                LAUNCHER.toString(), "sim", "--controller",
                "--port", String.valueOf(controllerPort),
                "--pull-port", String.valueOf(workerAddress.pullPort()),
                "--reply-port", String.valueOf(workerAddress.replyPort()),
                "--heartbeat-port", String.valueOf(heartbeatPort),
                "--list-ms", "500")); // so that a run of a minute sees it come back
  }

  /** Kills the controller as a crash would. */
  void killController() {
    if (controller != null) {
      controller.kill();
      controller = null;
    }
  }

  @Override
  public void close() {
    router.close();
    engines.forEach(SimEngine::close);
    killController();
  }

  private SimSettings engine(int number, Hardware hardware) {
    return SimSettings.builder()
        .port(0)
        .engine(hardware.engine())
        .capacityBlocks(hardware.blocks())
        .hostTier(
            HostTierSettings.of(hardware.hostBlocks()).withController(workerAddress, "instance-" + number, HEARTBEAT))
        .events(EventSettings.DEFAULT.withLoopback())
        .seed(number)
        .build();
  }

  private String configuration(String profile, Hardware hardware) {
    String workers =
        IntStream.range(0, ENGINES).mapToObj(i -> "instance-" + i + " = engine-" + i).collect(Collectors.joining(", "));
    String lmcache =
        profile.contains("lmcache")
            ? "lmcache { controller = \"http://127.0.0.1:%d\", poll-interval = 1s, workers { %s } }"
                .formatted(controllerPort, workers)
            : "";
    return """
        routing.profile = "%s"
          pod-defaults.engine = "%s"
          %s
        """
        .formatted(profile, hardware.engine(), lmcache);
  }
}
