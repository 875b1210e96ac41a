package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.app.node.Node;
import io.kvasir.cell.ClusterStatus;
import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Three nodes before three engines: a session stays with its worker, whichever node its requests come to. */
final class SessionsIT {
  private static final int SESSIONS = 24;

  private final ThreeNodes cluster = new ThreeNodes("sticky-sessions");
  private int requests;

  @AfterEach
  void stop() {
    cluster.close();
  }

  @Test
  void sessions_stayWithTheirWorkers_onEveryNode_alsoWhenTheHomeOfTheirCellIsStopped() throws Exception {
    cluster.start();
    List<Node> nodes = cluster.running();
    for (Node node : nodes) {
      await("all nodes to serve", () -> turn(node, "first").statusCode() == 200);
      await("all nodes to know all", () -> ups(node) == 3);
    }
    Map<String, String> workers = new LinkedHashMap<>();
    for (int session = 0; session < SESSIONS; session++) {
      workers.put("s" + session, worker(nodes.get(session % 3), "s" + session));
    }
    assertThat(workers.values().stream().distinct()).as("sessions are spread").hasSize(3);
    for (Node node : nodes) {
      assertThat(workersAt(node, workers)).isEqualTo(workers);
    }

    Node home = nodes.stream().filter(SessionsIT::isHome).findFirst().orElseThrow();
    cluster.stop(home);

    for (Node node : nodes) {
      await("the nodes left to serve", () -> turn(node, "first").statusCode() == 200);
    }
    // Those that a node has not relayed yet, and then all.
    Map<String, String> after = new LinkedHashMap<>();
    for (String session : workers.keySet()) {
      after.put(session, worker(nodes.get(after.size() % 2), session));
    }
    assertThat(after).isEqualTo(workers);
    for (Node node : nodes) {
      assertThat(workersAt(node, workers)).isEqualTo(workers);
    }
  }

  private Map<String, String> workersAt(Node node, Map<String, String> sessions) throws Exception {
    Map<String, String> workers = new LinkedHashMap<>();
    for (String session : sessions.keySet()) {
      workers.put(session, worker(node, session));
    }
    return workers;
  }

  private static int ups(Node node) {
    return (int) node.fleet().cluster().nodes().stream().filter(other -> other.state().equals("up")).count();
  }

  private static boolean isHome(Node node) {
    ClusterStatus status = node.fleet().cluster();
    String self = status.nodes().stream().filter(ClusterStatus.NodeStatus::self).findFirst().orElseThrow().address();
    return self.equals(status.cells().getFirst().home());
  }

  private String worker(Node node, String session) throws Exception {
    HttpResponse<String> answer = turn(node, session);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return TestNodes.header(answer, "X-Router-Backend");
  }

  /** A request that has nothing in common with another but its session. */
  private HttpResponse<String> turn(Node node, String session) throws Exception {
    return TestNodes.post(
        node, "/v1/completions",
        "{\"model\":\"m\",\"max_tokens\":1,\"prompt\":\"%d is another number\"}".formatted(++requests),
        "X-Session-ID", session);
  }
}
