package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.app.node.Node;
import io.kvasir.kubernetes.FakeKubernetes;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node whose metrics are for those whom Kubernetes lets read them, over real sockets. */
final class MetricsAccessIT {
  @Test
  void metrics_areForThoseWhoMayReadThem_andTheRestOfThePortForAll(@TempDir Path directory) throws Exception {
    Path token = Files.writeString(directory.resolve("token"), "secret\n");
    try (FakeKubernetes kubernetes = new FakeKubernetes();
        Node node =
            TestNodes.start(
                """
                kvasir {
                  management.metrics-access = kubernetes
                  pods-from.kubernetes { api = "%s", token = "%s" }
                }
                """
                    .formatted(kubernetes.url(), token))) {
      kubernetes.user("prometheus-token", "prometheus");
      kubernetes.user("eve-token", "nobody");

      assertThat(metrics(node, "Bearer prometheus-token").body())
          .contains("kvasir_kubernetes_reviews_total{result=\"allowed\"} 1.0");
      HttpResponse<String> without = TestNodes.manage(node, "/metrics");
      assertThat(without.statusCode()).isEqualTo(401);
      assertThat(TestNodes.header(without, "WWW-Authenticate")).isEqualTo("Bearer");
      assertThat(without.body()).contains("Authorization: Bearer TOKEN");
      assertThat(metrics(node, "Basic cHJvbWV0aGV1cw==").statusCode()).isEqualTo(401);
      assertThat(metrics(node, "Bearer made-up").statusCode()).isEqualTo(401);
      HttpResponse<String> forbidden = metrics(node, "bearer eve-token");
      assertThat(forbidden.statusCode()).isEqualTo(403);
      assertThat(forbidden.body()).contains("nobody may not read this", "nonResourceURL /metrics");

      kubernetes.fail(500);
      HttpResponse<String> unanswered = metrics(node, "Bearer another");
      assertThat(unanswered.statusCode()).isEqualTo(503);
      assertThat(unanswered.body()).contains("Kubernetes cannot be asked", "500");
      assertThat(metrics(node, "Bearer prometheus-token").statusCode()).as("asked about just before").isEqualTo(200);
      await("the node is ready", () -> TestNodes.manage(node, "/ready").statusCode() == 200);
      assertThat(TestNodes.manage(node, "/ready").body()).contains("who may read /metrics cannot be asked");
    }
  }

  @Test
  void withoutAnApiServer_theNodeDoesNotStart() {
    assertThatThrownBy(() -> TestNodes.start("kvasir.management.metrics-access = kubernetes"))
        .hasMessageContaining("kvasir.management.metrics-access")
        .hasMessageContaining("pods-from.kubernetes.api");
  }

  private static HttpResponse<String> metrics(Node node, String authorization) throws Exception {
    return TestNodes.manage(node, "GET", "/metrics", "", "Authorization", authorization);
  }
}
