package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.node.Node;
import io.kvasir.load.Ports;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file of pods that two nodes follow. */
final class PodFileIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<Node> nodes = new ArrayList<>();

  @AfterEach
  void stop() {
    nodes.forEach(Node::close);
  }

  @Test
  void podFile_isFollowed_andStillWhenTheNodeThatLooksIsGone(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("pods.conf");
    Files.writeString(file, "pods = [{ name = a, url = \"http://127.0.0.1:1\", models = [m] }]");
    List<Integer> ports = List.of(Ports.free(), Ports.free());
    for (int port : ports) {
      nodes.add(
          TestNodes.start(
              """
              kvasir {
                cluster { port = %d, seed-nodes = ["127.0.0.1:%d", "127.0.0.1:%d"] }
                pods-from.file { path = "%s", interval = 50 ms }
              }
              """
                  .formatted(port, ports.get(0), ports.get(1), file)));
    }
    Node first = nodes.getFirst();
    Node second = nodes.getLast();
    await("the file's pod on both", () -> workers(first).equals("a") && workers(second).equals("a"));
    Files.writeString(file, "pods = [{ name = a, url = here, models = [m] }]");
    await("the fault to be told", () -> TestNodes.manage(first, "/ready").body().contains("pods[0].url"));
    assertThat(workers(second)).isEqualTo("a");
    nodes.remove(first);
    first.close();
    Files.writeString(file, "pods = [{ name = b, url = \"http://127.0.0.1:2\", models = [m] }]");
    await("the next node to look", () -> workers(second).equals("b"));
  }

  private static String workers(Node node) throws Exception {
    return String.join(
        ",", JSON.readTree(TestNodes.manage(node, "/admin/cluster").body()).path("workers").findValuesAsText("id"));
  }
}
