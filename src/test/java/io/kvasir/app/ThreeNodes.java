package io.kvasir.app;

import io.kvasir.app.node.Node;
import io.kvasir.load.Ports;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Three nodes of one cluster in this process, before three simulated engines of the model {@code m}. */
final class ThreeNodes implements AutoCloseable {
  private final String profile;
  private final List<SimEngine> engines = new ArrayList<>();
  private final List<Node> nodes = new ArrayList<>();

  /** Nodes that route by a profile, once they are {@linkplain #start started}. */
  ThreeNodes(String profile) {
    this.profile = profile;
  }

  void start() throws Exception {
    for (int i = 0; i < 3; i++) {
      engines.add(
          SimEngine.start(
              SimSettings.builder().model("m").speed(0).port(0).capacityBlocks(512).events(EventSettings.OFF).build()));
    }
    List<Integer> ports = IntStream.range(0, 3).mapToObj(i -> Ports.free()).toList();
    for (int port : ports) {
      nodes.add(TestNodes.start(settings(ports, port)));
    }
  }

  /** Those that have not been stopped. */
  List<Node> running() {
    return nodes;
  }

  /** Stops one of them as an operator would. */
  void stop(Node node) {
    nodes.remove(node);
    node.close();
  }

  private String settings(List<Integer> ports, int port) {
    return """
        kvasir {
          models = [{ name = m, mode = text, block-size = 16 }]
          routing.profile = %s
          pods = [%s]
          cluster { seed-nodes = ["127.0.0.1:%d"], port = %d }
        }
        """.formatted(
            profile,
            IntStream.range(0, engines.size())
                .mapToObj(i -> "{ name = e%d, url = \"%s\", models = [m] }".formatted(i, engines.get(i).url()))
                .collect(Collectors.joining(", ")),
            ports.getFirst(),
            port);
  }

  @Override
  public void close() {
    nodes.forEach(Node::close);
    engines.forEach(SimEngine::close);
  }
}
