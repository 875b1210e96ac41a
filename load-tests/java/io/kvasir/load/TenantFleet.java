package io.kvasir.load;

import io.kvasir.sim.SimEngine;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Simulated engines in this process, router nodes before them, each a process of its own, and a client of these. */
final class TenantFleet implements AutoCloseable {
  private static final int BLOCK = 16;

  private final List<SimEngine> engines = new ArrayList<>();
  private final RouterNodes nodes;
  private final TenantClient client = new TenantClient();

  /**
   * What a fleet consists of.
   *
   * @param name of the load test, and of the folder below {@code target} for logs and configurations
   * @param engineTokens that an engine's cache holds; 0 for what its coefficients say
   * @param maxInFlight requests that the nodes send to an engine at a time
   * @param sessions whether the engines are of SGLang's kind, and evict what sessions have used after all else
   * @param settings lines of the nodes' configurations
   */
  record Shape(
      String name, int engines, int engineTokens, int nodes, int maxInFlight, boolean sessions, String settings) {
    /** Engines that evict what was used least recently. */
    Shape(String name, int engines, int engineTokens, int nodes, int maxInFlight, String settings) {
      this(name, engines, engineTokens, nodes, maxInFlight, false, settings);
    }
  }

  /** What is measured of a fleet. */
  @FunctionalInterface
  interface Measurement<T> {
    T of(TenantFleet fleet) throws InterruptedException;
  }

  private TenantFleet(TenantFleetOptions options, Shape shape) throws IOException, InterruptedException {
    try {
      for (int i = 0; i < shape.engines; i++) {
        engines.add(engine(options, shape));
      }
      this.nodes =
          new RouterNodes(
              options.launcher(), Path.of("target", shape.name), shape.nodes, shape.nodes, engines, shape.maxInFlight,
              "pod-defaults.engine = " + options.engine() + "\n  " + shape.settings, new LoopbackNetwork(shape.nodes));
    } catch (IOException | RuntimeException failed) {
      client.close();
      engines.forEach(SimEngine::close);
      throw failed;
    }
    try {
      for (RouterNodes.Node node : nodes.all()) {
        nodes.awaitReady(node, engines.size());
      }
    } catch (InterruptedException | RuntimeException failed) {
      close();
      throw failed;
    }
  }

  /** Starts a fleet, measures it when all of it is ready, and ends it. */
  static <T> T measure(TenantFleetOptions options, Shape shape, Measurement<T> measurement) {
    try (TenantFleet fleet = new TenantFleet(options, shape)) {
      return measurement.of(fleet);
    } catch (IOException failed) {
      throw new IllegalStateException(failed);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(interrupted);
    }
  }

  private static SimEngine engine(TenantFleetOptions options, Shape shape) throws IOException {
    SimSettings.Builder settings =
        SimSettings.builder()
            .port(0)
            .model(TenantClient.MODEL)
            .engine(options.engine())
            .maxSequences(options.slots())
            .events(EventSettings.DEFAULT.withLoopback());
    if (shape.sessions) {
      EventFormat format = new EventFormat(EventFormat.Encoding.SGLANG, false, false);
      settings.api(EngineApi.SGLANG).sessions(true).events(EventSettings.DEFAULT.withLoopback().withFormat(format));
    }
    return SimEngine.start(
        (shape.engineTokens == 0 ? settings : settings.blockSize(BLOCK).capacityBlocks(shape.engineTokens / BLOCK))
            .build());
  }

  List<SimEngine> engines() {
    return engines;
  }

  RouterNodes nodes() {
    return nodes;
  }

  TenantClient client() {
    return client;
  }

  @Override
  public void close() {
    client.close();
    nodes.close();
    engines.forEach(SimEngine::close);
  }
}
