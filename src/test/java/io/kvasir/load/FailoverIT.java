package io.kvasir.load;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.load.NodeLoad.End;
import io.kvasir.load.NodeLoad.Request;
import io.kvasir.load.RouterNodes.Node;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three router processes under conversations; the home of their cell is killed, and the next one is told to stop. */
final class FailoverIT {
  private static final int NODES = 3;
  private static final int ENGINES = 2;

  private final List<SimEngine> engines = new ArrayList<>();

  @AfterEach
  void stop() {
    engines.forEach(SimEngine::close);
  }

  @Test
  void homesThatGo_losingNothingOnTheOthers(@TempDir Path work) throws Exception {
    for (int i = 0; i < ENGINES; i++) {
      engines.add(
          SimEngine.start(
              SimSettings.builder()
                  .port(0)
                  .model("kvasir-demo")
                  .speed(20)
                  .events(EventSettings.DEFAULT.withLoopback())
                  .build()));
    }
    try (RouterNodes nodes =
        new RouterNodes(launcher(work), work, NODES, NODES, engines, 64, "", new LoopbackNetwork(NODES))) {
      for (Node node : nodes.all()) {
        nodes.awaitReady(node, ENGINES);
      }
      NodeLoad load = new NodeLoad(nodes, 4);
      try (load) {
        awaitDecisionAtHome(load, System.nanoTime());
        Node killed = home(nodes);
        awaitDecisionAtHome(load, nodes.kill(killed));
        Node stopped = home(nodes);
        assertThat(stopped).isNotSameAs(killed);
        awaitDecisionAtHome(load, nodes.stop(stopped));
        assertThat(home(nodes)).isNotIn(killed, stopped);
      }
      assertThat(load.requests()).filteredOn(request -> request.end() == End.LOST).extracting(Request::what).isEmpty();
      await("all load to be given back", () -> nodes.inFlight() == 0);
    }
  }

  private static Node home(RouterNodes nodes) {
    await("a home of the cell", () -> nodes.home() != null && Objects.requireNonNull(nodes.home()).isAlive());
    return Objects.requireNonNull(nodes.home());
  }

  /** Waits until a request that began after that was decided by the cell's home. */
  private static void awaitDecisionAtHome(NodeLoad load, long nanos) {
    await(
        "a decision at home",
        () ->
            load.requests().stream()
                .anyMatch(
                    request ->
                        request.end() == End.COMPLETE && !request.fallback() && request.begun() - nanos > 0));
  }

  /** Starts what this test runs, as the launcher of a checkout starts what is built. */
  private static Path launcher(Path work) throws Exception {
    Path launcher = work.resolve("kvasir");
    Files.writeString(
        launcher,
        """
        #!/bin/sh
        exec '%s' --sun-misc-unsafe-memory-access=allow --enable-native-access=ALL-UNNAMED -Xmx256m -XX:+UseSerialGC \\
          -XX:TieredStopAtLevel=1 -cp '%s' io.kvasir.app.Main "$@"
        """
            .formatted(
                Path.of(System.getProperty("java.home"), "bin", "java"), System.getProperty("java.class.path")));
    Files.setPosixFilePermissions(launcher, PosixFilePermissions.fromString("rwx------"));
    return launcher;
  }
}
