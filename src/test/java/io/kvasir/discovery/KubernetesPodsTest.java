package io.kvasir.discovery;

import static io.kvasir.Await.await;
import static io.kvasir.kubernetes.inference.InferenceApi.POOLS;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.engines.EngineIdentity;
import io.kvasir.engines.EngineKind;
import io.kvasir.execution.FakeCells;
import io.kvasir.kubernetes.ApiResource;
import io.kvasir.kubernetes.FakeKubernetes;
import io.kvasir.kubernetes.ObjectKey;
import io.kvasir.kubernetes.ObjectWatch;
import io.kvasir.kubernetes.inference.InferenceApi;
import io.kvasir.kubernetes.inference.InferenceMetrics;
import io.kvasir.kubernetes.inference.InferenceObjects;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The pod source of Kubernetes against an API server over real HTTP that fails in every way. */
final class KubernetesPodsTest {
  private static final ObjectWatch.Pace PACE = new ObjectWatch.Pace(Duration.ofHours(1), Duration.ofMillis(20));
  @TempDir private static Path directory = Path.of("");
  private static Path token = Path.of("");

  private final FakeCells cells = new FakeCells();
  private final SourceState state =
      new SourceState(PodSource.KUBERNETES, new Metrics(new PrometheusRegistry()));
  private final Map<URI, List<String>> models = new ConcurrentHashMap<>();
  private final PodLearner learner =
      (engine, _) -> {
        List<String> served = models.get(engine.url());
        if (served == null) {
          throw new IOException("no answer");
        }
        ObjectNode settings = JsonNodeFactory.instance.objectNode();
        served.forEach(settings.putArray("models")::add);
        return new LearntPod(
            "unnamed", settings, new EngineIdentity(EngineKind.VLLM, "0.32.0", null, false, Set.of()), true,
            List.of("It could do better."));
      };
  private final FakeKubernetes kubernetes;
  private final List<AutoCloseable> opened = new ArrayList<>();

  @BeforeAll
  static void write() throws Exception {
    token = Files.writeString(directory.resolve("token"), "secret\n");
  }

  KubernetesPodsTest() throws Exception {
    kubernetes = new FakeKubernetes();
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
    put(pod("a", "10.0.0.1", true, ""));
    put(pod("pending", "", false, ""));
    start();
    await(() -> urls().equals(Map.of("a", "http://10.0.0.1:8000")) && kubernetes.watches() == 1);
    put(pod("b", "10.0.0.2", false, ""));
    await(() -> withheld("b"));
    put(pod("b", "10.0.0.2", true, ""));
    await(() -> urls().size() == 2 && !withheld("b"));
    put(pod("a", "10.0.0.1", true, "\"deletionTimestamp\": \"2026-01-01T00:00:00Z\","));
    await(() -> withheld("a"));
    kubernetes.delete(ApiResource.PODS, key("a"));
    await(() -> urls().keySet().equals(Set.of("b")));
    assertThat(state.problems()).isEmpty();
  }

  @Test
  void serverThatIsDown_changesNothing_andIsReadAgainLater() throws Exception {
    put(pod("a", "10.0.0.1", true, ""));
    start();
    await(() -> urls().size() == 1 && kubernetes.watches() == 1);
    kubernetes.stop();
    await(() -> !state.problems().isEmpty());
    assertThat(state.problems()).singleElement().asString().contains("cannot be reached", "1 pods");
    assertThat(urls()).hasSize(1);
    kubernetes.delete(ApiResource.PODS, key("a"));
    kubernetes.restart();
    await(() -> urls().isEmpty() && state.problems().isEmpty());
  }

  @Test
  void forbidden_namesTheMissingPermissions() throws Exception {
    kubernetes.deny("list", ApiResource.PODS);
    start();
    await(() -> !state.problems().isEmpty());
    assertThat(state.problems())
        .singleElement().asString().contains("403", "pods is forbidden", "no right to list pods");
    kubernetes.allow("list", ApiResource.PODS);
    await(() -> state.problems().isEmpty());
  }

  @Test
  void invalidPod_isReported_andOthersAreUsed() throws Exception {
    put(pod("a", "10.0.0.1", true, ""));
    put(
        """
        {"metadata": {"name": "odd", "namespace": "engines", "labels": {"app": "vllm"}},
         "status": {"podIP": "10.0.0.9"}}
        """);
    put(
        pod("json", "10.0.0.8", true, "\"annotations\": {\"kvasir.io/models\": \"m\", \"kvasir.io/pod\": \"{\"},"));
    start();
    await(() -> urls().size() == 1 && !state.problems().isEmpty());
    assertThat(state.problems())
        .satisfiesExactlyInAnyOrder(
            fault -> assertThat(fault.what()).contains("pod odd", "url is missing"),
            fault -> assertThat(fault.what()).contains("pod json"));
  }

  @Test
  void podWhoseAnnotationIsNestedTooDeeply_isReported_andOthersAreUsed() throws Exception {
    put(pod("a", "10.0.0.1", true, ""));
    start();
    await(() -> urls().size() == 1 && kubernetes.watches() == 1);
    String deep = "{\\\"a\\\":".repeat(40_000) + "1" + "}".repeat(40_000);
    put(pod("deep", "10.0.0.8", true,
        "\"annotations\": {\"kvasir.io/models\": \"m\", \"kvasir.io/pod\": \"" + deep + "\"},"));
    await(() -> !state.problems().isEmpty());
    assertThat(state.problems()).singleElement().asString().contains("pod deep: ", "nested too deeply");
    put(pod("b", "10.0.0.2", true, ""));
    await(() -> urls().keySet().equals(Set.of("a", "b")));
  }

  @Test
  void annotations_becomeThePodsSettings() throws Exception {
    put(
        """
        {"metadata": {"name": "p", "namespace": "engines",
          "labels": {"app": "vllm", "zone": "a", "kvasir.io/role": "prefill"},
          "annotations": {"kvasir.io/models": "m, lora", "kvasir.io/port": "9000", "kvasir.io/scheme": "https",
            "kvasir.io/pod": "{\\"events\\": {\\"topic\\": \\"at {ip}\\"}}"}},
         "spec": {"containers": [{"ports": [{"name": "kv-events", "containerPort": 5557},
            {"name": "kv-replay", "containerPort": 5657}]}]},
         "status": {"podIP": "10.0.0.3", "conditions": [{"type": "Ready", "status": "True"}]}}
        """);
    List<Config> read = new ArrayList<>();
    start((listed, faults) -> {
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

  @Test
  void podsOfPools_areAWorkerForEachPort_asLongAsThePoolsAre() throws Exception {
    InferenceApi.install(kubernetes);
    kubernetes.put(POOLS, InferenceApi.pool("engines", "llama", "vllm", "{\"number\": 8000}"));
    kubernetes.put(POOLS, InferenceApi.pool("other", "llama", "vllm", "{\"number\": 8000}, {\"number\": 8001}"));
    put(pod("a", "10.0.0.1", true, ""));
    put(pod("a", "10.0.0.2", true, "").replace("\"engines\"", "\"other\""));
    put(pod("b", "10.0.0.3", true, "").replace("vllm", "something"));
    startWith(pools("engines", "other"));
    await(() -> urls().equals(Map.of(
        "a", "http://10.0.0.1:8000", "a.other:8000", "http://10.0.0.2:8000", "a.other:8001", "http://10.0.0.2:8001")));
    assertThat(spec("a").labels()).containsEntry("kvasir.io/pool", "engines/llama");
    assertThat(spec("a.other:8001").labels()).containsEntry("kvasir.io/pool", "other/llama");

    kubernetes.put(POOLS, InferenceApi.pool("engines", "second", "vllm", "{\"number\": 8000}, {\"number\": 9000}"));
    await(() -> urls().containsKey("a:9000"));
    assertThat(spec("a:8000").labels()).containsEntry("kvasir.io/pool", "engines/llama,engines/second");
    kubernetes.delete(POOLS, key("second"));
    await(() -> urls().containsKey("a") && urls().size() == 3);

    String active = "\"annotations\": {\"kvasir.io/models\": \"m\", \"llm-d.ai/active-ports\": \"8001\"},";
    put(pod("a", "10.0.0.2", true, active).replace("\"engines\"", "\"other\""));
    await("the idle port to be left out", () -> urls().keySet().equals(Set.of("a", "a.other:8001")));
    kubernetes.delete(POOLS, new ObjectKey("other", "llama"));
    await(() -> urls().keySet().equals(Set.of("a")));
    assertThat(state.problems()).isEmpty();
  }

  @Test
  void manyPools_shareAWatchOfTheirNamespace() throws Exception {
    InferenceApi.install(kubernetes);
    for (int i = 0; i < 40; i++) {
      String namespace = i % 2 == 0 ? "engines" : "other";
      kubernetes.put(POOLS, InferenceApi.pool(namespace, "pool-" + i, "app-" + i, "{\"number\": 8000}"));
    }
    put(pod("a", "10.0.0.1", true, "").replace("vllm", "app-0"));
    put(pod("b", "10.0.0.2", true, "").replace("vllm", "app-1"));
    put(pod("c", "10.0.0.3", true, "").replace("vllm", "app-1").replace("\"engines\"", "\"other\""));
    startWith(pools("engines", "other"));
    await("those only that a pool of their namespace selects", () -> urls().keySet().equals(Set.of("a", "c.other")));
    int ofPools = 6;
    await(() -> watches() == ofPools + 2);
    put(pod("a", "10.0.0.1", true, "").replace("vllm", "nothing"));
    await(() -> urls().keySet().equals(Set.of("c.other")));

    for (int i = 39; i > 16; i--) {
      kubernetes.delete(POOLS, new ObjectKey(i % 2 == 0 ? "engines" : "other", "pool-" + i));
    }
    await("fewer to be still two", () -> state.problems().isEmpty() && watches() == ofPools + 2);
    kubernetes.delete(POOLS, key("pool-16"));
    await("a watch for each selector again", () -> watches() == ofPools + 16);
    assertThat(urls().keySet()).containsExactly("c.other");
  }

  @Test
  void manyPoolsOfAllNamespaces_shareOneWatch() throws Exception {
    InferenceApi.install(kubernetes);
    for (int i = 0; i < 40; i++) {
      kubernetes.put(POOLS, InferenceApi.pool("team-" + i, "llama", "vllm", "{\"number\": 8000}"));
    }
    put(pod("a", "10.0.0.1", true, "").replace("\"engines\"", "\"team-7\""));
    put(pod("b", "10.0.0.2", true, ""));
    startWith(pools(""));
    await(() -> urls().keySet().equals(Set.of("a.team-7")) && watches() == 4);
  }

  /** An actor starts it, whose thread must not wait for the directory; nor may it end when that does not answer. */
  @Test
  void thatThereIsNothingToWatch_isDeclaredByAnotherThread_untilItIsTaken() throws Exception {
    InferenceApi.install(kubernetes);
    InferenceObjects pools = pools("engines");
    await(pools::isComplete);
    Thread starts = Thread.currentThread();
    List<Thread> declaring = new CopyOnWriteArrayList<>();
    cells.pods.onDeclare = () -> {
      declaring.add(Thread.currentThread());
      if (declaring.size() == 1) {
        throw new IllegalStateException("the directory does not answer");
      }
    };
    startWith(pools);
    await(() -> cells.pods.declared.containsKey(PodSource.KUBERNETES));
    assertThat(declaring).hasSizeGreaterThan(1).doesNotContain(starts);
    await(() -> state.problems().isEmpty());
  }

  @Test
  void takeoverDuringAnOutage_removesNothing() throws Exception {
    InferenceApi.install(kubernetes);
    kubernetes.put(POOLS, InferenceApi.pool("engines", "llama", "vllm", "{\"number\": 8000}"));
    put(pod("a", "10.0.0.1", true, ""));
    InferenceObjects pools = pools("engines");
    await(pools::isComplete);
    kubernetes.fail(503);
    startWith(pools);
    await(() -> !state.problems().isEmpty());
    assertThat(cells.pods.declared).isEmpty();
    kubernetes.fail(0);
    await(() -> urls().size() == 1 && state.problems().isEmpty());
  }

  @Test
  void namespaceThatMayNotBeRead_doesNotHinderOthers() throws Exception {
    InferenceApi.install(kubernetes);
    kubernetes.put(POOLS, InferenceApi.pool("engines", "llama", "vllm", "{\"number\": 8000}"));
    kubernetes.put(POOLS, InferenceApi.pool("other", "llama", "vllm", "{\"number\": 8000}"));
    kubernetes.deny("list", ApiResource.PODS, "other");
    put(pod("a", "10.0.0.1", true, ""));
    startWith(pools("engines", "other"));
    await(() -> urls().size() == 1 && !state.problems().isEmpty());
    assertThat(state.problems()).singleElement().asString().contains("403", "namespace \"other\"");
  }

  @Test
  void takeoverWhileTheApiRefuses_removesNothing() throws Exception {
    put(pod("a", "10.0.0.1", true, ""));
    put(pod("b", "10.0.0.2", false, ""));
    start();
    await(() -> urls().size() == 2);
    opened.removeLast().close();
    kubernetes.revoke("secret");
    start();
    await(() -> state.problems().toString().contains("401"));
    assertThat(urls().keySet()).containsExactly("a", "b");
    assertThat(withheld("a")).isFalse();
    assertThat(withheld("b")).isTrue();
    kubernetes.delete(ApiResource.PODS, key("a"));
    kubernetes.user("secret", "kvasir");
    await("what is there when it may be read", () -> urls().keySet().equals(Set.of("b")));
    await(() -> state.problems().isEmpty());
  }

  @Test
  void takeoverWhileANamespaceMayNotBeRead_keepsItsPods_andDoesNotHinderOthers() throws Exception {
    InferenceApi.install(kubernetes);
    kubernetes.put(POOLS, InferenceApi.pool("engines", "llama", "vllm", "{\"number\": 8000}"));
    kubernetes.put(POOLS, InferenceApi.pool("other", "llama", "vllm", "{\"number\": 8000}"));
    put(pod("a", "10.0.0.1", true, ""));
    put(pod("b", "10.0.0.2", true, "").replace("\"engines\"", "\"other\""));
    InferenceObjects known = pools("engines", "other");
    startWith(known);
    await(() -> urls().size() == 2);
    opened.removeLast().close();
    kubernetes.deny("list", ApiResource.PODS, "other");
    startWith(known);
    await(() -> state.problems().toString().contains("namespace \"other\""));
    assertThat(urls().keySet()).containsExactly("a", "b.other");
    kubernetes.delete(ApiResource.PODS, key("a"));
    await(() -> urls().keySet().equals(Set.of("b.other")));
    opened.removeLast().close();

    kubernetes.deny("list", POOLS, "other");
    put(pod("c", "10.0.0.3", true, ""));
    startWith(pools("engines", "other"));
    await("the same where the pools may not be read", () -> urls().keySet().equals(Set.of("b.other", "c")));
    opened.removeLast().close();
    kubernetes.uninstall(POOLS);
    startWith(pools("engines", "other"));
    await("where there are no pools there are no pods of theirs", () -> urls().isEmpty());
  }

  @Test
  void podThatNamesNoModels_hasThoseOfItsEngine() throws Exception {
    put(pod("a", "10.0.0.1", false, "\"annotations\": {},"));
    start();
    put(pod("b", "10.0.0.2", true, "\"annotations\": {},"));
    await(() -> !state.problems().isEmpty());
    assertThat(state.problems()).as("an engine that is not ready yet is none").singleElement().asString()
        .contains("pod b: names no models, and its engine neither: no answer");
    models.put(URI.create("http://10.0.0.1:8000"), List.of("m", "lora"));
    put(pod("a", "10.0.0.1", true, "\"annotations\": {},"));
    await(() -> urls().containsKey("a"));
    assertThat(spec("a").models()).containsExactly("m", "lora");
    PodSpec.Learnt learnt = Objects.requireNonNull(spec("a").learnt());
    assertThat(learnt.engine()).isEqualTo("vLLM 0.32.0");
    assertThat(learnt.remarks()).containsExactly("It could do better.");
    assertThat(learnt.described()).contains("\"name\":\"a\"").doesNotContain("models");
    models.put(URI.create("http://10.0.0.2:8000"), List.of("m"));
    await(() -> urls().containsKey("b") && state.problems().isEmpty());
    models.clear();
    put(pod("a", "10.0.0.1", false, "\"annotations\": {},"));
    await(() -> withheld("a"));
    assertThat(spec("a").models()).as("models of a pod that is not ready for a while").containsExactly("m", "lora");
  }

  @Test
  void takeoverWhileAnEngineDoesNotAnswer_keepsItsPodAsItWas() throws Exception {
    models.put(URI.create("http://10.0.0.1:8000"), List.of("m", "lora"));
    models.put(URI.create("http://10.0.0.2:8000"), List.of("m"));
    put(pod("a", "10.0.0.1", true, "\"annotations\": {},"));
    put(pod("b", "10.0.0.2", true, "\"annotations\": {},"));
    start();
    await(() -> urls().size() == 2);
    opened.removeLast().close();
    PodSpec before = spec("a");
    models.clear();
    put(pod("b", "10.0.0.3", true, "\"annotations\": {},"));
    put(pod("c", "10.0.0.4", true, ""));
    start();
    await(() -> urls().containsKey("c"));
    assertThat(urls().keySet()).as("all but that at another address").containsExactly("a", "c");
    assertThat(spec("a")).isEqualTo(before);
    models.put(URI.create("http://10.0.0.1:8000"), List.of("m"));
    await("what it is now", () -> spec("a").models().equals(Set.of("m")));
  }

  @Test
  void podOfTheSameNameAtAnotherAddress_isNoneUntilItsEngineHasAnswered() throws Exception {
    models.put(URI.create("http://10.0.0.1:8000"), List.of("m"));
    put(pod("a", "10.0.0.1", true, "\"annotations\": {},"));
    start();
    await(() -> urls().equals(Map.of("a", "http://10.0.0.1:8000")));
    put(pod("a", "10.0.0.2", false, "\"annotations\": {},"));
    await("the engine that is no more", () -> urls().isEmpty());
    put(pod("a", "10.0.0.2", true, "\"annotations\": {},"));
    models.put(URI.create("http://10.0.0.2:8000"), List.of("m"));
    await(() -> urls().equals(Map.of("a", "http://10.0.0.2:8000")));
  }

  private void put(String pod) throws Exception {
    kubernetes.put(ApiResource.PODS, pod);
  }

  private static ObjectKey key(String name) {
    return new ObjectKey("engines", name);
  }

  private void start() {
    start(KubernetesPodsTest::read);
  }

  private InferenceObjects pools(String... namespaces) {
    InferenceObjects pools =
        new InferenceObjects(
            kubernetes.connection(token), List.of(namespaces), PACE,
            new InferenceMetrics(new Metrics(new PrometheusRegistry())));
    opened.add(pools);
    pools.start();
    return pools;
  }

  private void startWith(InferenceObjects pools) {
    KubernetesSettings settings =
        new KubernetesSettings(
            kubernetes.connection(token), "engines", "", Duration.ofHours(1), List.of(), null,
            ConfigFactory.parseString("engine = h100"));
    KubernetesSource source = new KubernetesSource(settings, PACE, pools);
    opened.add(new KubernetesPods(source, KubernetesPodsTest::read, learner, cells.pods, state));
  }

  private void start(PodsReader reader) {
    KubernetesSettings settings =
        new KubernetesSettings(
            kubernetes.connection(token), "engines", "app=vllm", Duration.ofHours(1), List.of("zone"), null,
            ConfigFactory.parseString("engine = h100"));
    KubernetesSource source = new KubernetesSource(settings, PACE, null);
    opened.add(new KubernetesPods(source, reader, learner, cells.pods, state));
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
                  new LinkedHashSet<>(pod.getStringList("models")), labels(pod),
                  new PodSpec.Engine(pod.getString("engine"), 1, 16, 8, 1), List.of(), null),
              false));
    }
    return pods;
  }

  private static Map<String, String> labels(Config pod) {
    Map<String, String> labels = new TreeMap<>();
    if (pod.hasPath("labels")) {
      pod.getObject("labels").unwrapped().forEach((label, value) -> labels.put(label, value.toString()));
    }
    return labels;
  }

  private PodSpec spec(String name) {
    return cells.pods.declared.getOrDefault(PodSource.KUBERNETES, List.of()).stream()
        .map(DiscoveredPod::spec)
        .filter(spec -> spec.name().equals(name))
        .findFirst().orElseThrow();
  }

  private Map<String, String> urls() {
    Map<String, String> urls = new TreeMap<>();
    cells.pods.declared.getOrDefault(PodSource.KUBERNETES, List.of())
        .forEach(pod -> urls.put(pod.spec().name(), pod.spec().url().toString()));
    return urls;
  }

  /** The watches that are open: a server learns that one is not when it writes to it. */
  private int watches() {
    kubernetes.bookmark();
    return kubernetes.watches();
  }

  private boolean withheld(String name) {
    return cells.pods.declared.getOrDefault(PodSource.KUBERNETES, List.of()).stream()
        .anyMatch(pod -> pod.spec().name().equals(name) && pod.withheld());
  }

  private static String pod(String name, String ip, boolean ready, String metadata) {
    String annotations = metadata.contains("annotations") ? "" : "\"annotations\": {\"kvasir.io/models\": \"m\"},";
    return """
        {"metadata": {%s %s "name": "%s", "namespace": "engines", "labels": {"app": "vllm"}},
         "spec": {"containers": [{"ports": [{"name": "http", "containerPort": 8000}]}]},
         "status": {"phase": "Running", "podIP": "%s", "conditions": [{"type": "Ready", "status": "%s"}]}}
        """
        .formatted(metadata, annotations, name, ip, ready ? "True" : "False");
  }
}
