package io.kvasir.discovery;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.Certificates;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.execution.FakeCells;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The pod source of Kubernetes against an API server over real HTTPS that fails in every way. */
final class KubernetesPodsTest {
  private static final Duration NEVER = Duration.ofHours(1);
  @TempDir private static Path directory = Path.of("");
  private static Certificates made = new Certificates(directory);

  private final FakeCells cells = new FakeCells();
  private final SourceState state =
      new SourceState(PodSource.KUBERNETES, new Metrics(new PrometheusRegistry()));
  private final List<AutoCloseable> opened = new ArrayList<>();

  @BeforeAll
  static void make() throws Exception {
    made = new Certificates(directory).authority("ca").server("api", "ca");
    Files.writeString(directory.resolve("token"), "secret\n");
  }

  private FakeKubernetes kubernetes;

  KubernetesPodsTest() throws Exception {
    kubernetes = new FakeKubernetes(made);
  }

  @BeforeEach
  void open() {
    opened.add(kubernetes);
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
  }

  @Test
  void pods_areAddedBecomeReadyDrainAndAreRemoved() throws Exception {
    kubernetes.put(pod("a", "10.0.0.1", true, ""));
    kubernetes.put(pod("pending", "", false, ""));
    start(NEVER);
    await(() -> urls().equals(Map.of("a", "http://10.0.0.1:8000")) && kubernetes.watches() == 1);
    kubernetes.put(pod("b", "10.0.0.2", false, ""));
    await(() -> withheld("b"));
    kubernetes.put(pod("b", "10.0.0.2", true, ""));
    await(() -> urls().size() == 2 && !withheld("b"));
    kubernetes.put(pod("a", "10.0.0.1", true, "\"deletionTimestamp\": \"2026-01-01T00:00:00Z\","));
    await(() -> withheld("a"));
    kubernetes.delete("a");
    await(() -> urls().keySet().equals(Set.of("b")));
    assertThat(state.degraded()).isEmpty();
  }

  @Test
  void deletionThatAWatchLost_isFoundByTheNextList() throws Exception {
    kubernetes.put(pod("a", "10.0.0.1", true, ""));
    kubernetes.put(pod("b", "10.0.0.2", true, ""));
    start(Duration.ofSeconds(1));
    await(() -> urls().size() == 2);
    kubernetes.loseDelete("a");
    await(() -> urls().size() == 1);
  }

  @Test
  void versionThatIsTooOld_listsAnew() throws Exception {
    kubernetes.put(pod("a", "10.0.0.1", true, ""));
    start(NEVER);
    await(() -> urls().size() == 1 && kubernetes.watches() == 1);
    kubernetes.loseDelete("a");
    kubernetes.expire();
    await(() -> urls().isEmpty());
    assertThat(state.degraded()).as("versions expire in normal operation").isEmpty();
  }

  @Test
  void watchThatIsCut_isOpenedAgain() throws Exception {
    start(NEVER);
    await(() -> kubernetes.watches() == 1);
    kubernetes.cut();
    await(() -> kubernetes.lists.get() == 2 && kubernetes.watches() == 1);
    kubernetes.put(pod("a", "10.0.0.1", true, ""));
    await(() -> urls().size() == 1);
  }

  @Test
  void serverThatIsDown_changesNothing_andIsReadAgainLater() throws Exception {
    kubernetes.put(pod("a", "10.0.0.1", true, ""));
    start(NEVER);
    await(() -> urls().size() == 1 && kubernetes.watches() == 1);
    kubernetes.stop();
    await(() -> !state.degraded().isEmpty());
    assertThat(state.degraded()).singleElement().asString().contains("cannot be reached", "1 pods");
    assertThat(urls()).hasSize(1);
    kubernetes.loseDelete("a");
    kubernetes.restart();
    await(() -> urls().isEmpty() && state.degraded().isEmpty());
  }

  @Test
  void forbidden_namesTheMissingPermissions() throws Exception {
    kubernetes.token = "another";
    start(NEVER);
    await(() -> !state.degraded().isEmpty());
    assertThat(state.degraded())
        .singleElement().asString().contains("403", "pods is forbidden", "get, list and watch on pods");
    kubernetes.token = "secret";
    await(() -> state.degraded().isEmpty());
  }

  @Test
  void invalidPod_isReported_andOthersAreUsed() throws Exception {
    kubernetes.put(pod("a", "10.0.0.1", true, ""));
    kubernetes.put("{\"metadata\":{\"name\":\"odd\"},\"status\":{\"podIP\":\"10.0.0.9\"}}");
    kubernetes.put(
        pod("json", "10.0.0.8", true, "\"annotations\": {\"kvasir.io/models\": \"m\", \"kvasir.io/pod\": \"{\"},"));
    start(NEVER);
    await(() -> urls().size() == 1 && !state.degraded().isEmpty());
    assertThat(state.degraded())
        .satisfiesExactlyInAnyOrder(
            fault -> assertThat(fault).contains("pod odd", "url is missing"),
            fault -> assertThat(fault).contains("pod json"));
  }

  @Test
  void annotations_becomeThePodsSettings() throws Exception {
    kubernetes.put(
        """
        {"metadata": {"name": "p", "labels": {"zone": "a", "kvasir.io/role": "prefill"},
          "annotations": {"kvasir.io/models": "m, lora", "kvasir.io/port": "9000", "kvasir.io/scheme": "https",
            "kvasir.io/pod": "{\\"events\\": {\\"topic\\": \\"at {ip}\\"}}"}},
         "spec": {"containers": [{"ports": [{"name": "kv-events", "containerPort": 5557},
            {"name": "kv-replay", "containerPort": 5657}]}]},
         "status": {"podIP": "10.0.0.3", "conditions": [{"type": "Ready", "status": "True"}]}}
        """);
    List<Config> read = new ArrayList<>();
    start(NEVER, (listed, faults) -> {
      read.addAll(listed.getConfigList("pods"));
      return List.of();
    });
    await(() -> !read.isEmpty());
    assertThat(read.getFirst())
        .isEqualTo(
            ConfigFactory.parseString(
                """
                name = p, url = "https://10.0.0.3:9000", models = [m, lora], role = prefill, labels { zone = a }
                engine = h100
                events { endpoint = "tcp://10.0.0.3:5557", replay = "tcp://10.0.0.3:5657", topic = "at 10.0.0.3" }
                """));
  }

  private void start(Duration relist) {
    start(relist, KubernetesPodsTest::read);
  }

  private void start(Duration relist, PodsReader reader) {
    KubernetesSettings settings =
        new KubernetesSettings(
            kubernetes.url(), "engines", "app=vllm", directory.resolve("token"), Path.of(made.certificate("ca")),
            relist, List.of("zone"), ConfigFactory.parseString("engine = h100"));
    opened.add(new KubernetesPods(settings, reader, cells, state));
  }

  private static List<DiscoveredPod> read(Config listed, Consumer<String> faults) {
    List<DiscoveredPod> pods = new ArrayList<>();
    for (Config pod : listed.getConfigList("pods")) {
      if (!pod.hasPath("url")) {
        faults.accept("url is missing");
        continue;
      }
      pods.add(
          new DiscoveredPod(
              new PodSpec(
                  pod.getString("name"), URI.create(pod.getString("url")), Role.BOTH,
                  new LinkedHashSet<>(pod.getStringList("models")), Map.of(),
                  new PodSpec.Engine(pod.getString("engine"), 1, 16, 8, 1), List.of(), null),
              false));
    }
    return pods;
  }

  private Map<String, String> urls() {
    Map<String, String> urls = new TreeMap<>();
    cells.declared.getOrDefault(PodSource.KUBERNETES, List.of())
        .forEach(pod -> urls.put(pod.spec().name(), pod.spec().url().toString()));
    return urls;
  }

  private boolean withheld(String name) {
    return cells.declared.getOrDefault(PodSource.KUBERNETES, List.of()).stream()
        .anyMatch(pod -> pod.spec().name().equals(name) && pod.withheld());
  }

  private static String pod(String name, String ip, boolean ready, String metadata) {
    String annotations = metadata.contains("annotations") ? "" : "\"annotations\": {\"kvasir.io/models\": \"m\"},";
    return """
        {"metadata": {%s %s "name": "%s"},
         "spec": {"containers": [{"ports": [{"name": "http", "containerPort": 8000}]}]},
         "status": {"phase": "Running", "podIP": "%s", "conditions": [{"type": "Ready", "status": "%s"}]}}
        """
        .formatted(metadata, annotations, name, ip, ready ? "True" : "False");
  }
}
