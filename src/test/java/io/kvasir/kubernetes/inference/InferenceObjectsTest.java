package io.kvasir.kubernetes.inference;

import static io.kvasir.Await.await;
import static io.kvasir.kubernetes.inference.InferenceApi.OBJECTIVES;
import static io.kvasir.kubernetes.inference.InferenceApi.OLD_OBJECTIVES;
import static io.kvasir.kubernetes.inference.InferenceApi.POOLS;
import static io.kvasir.kubernetes.inference.InferenceApi.REWRITES;
import static io.kvasir.kubernetes.inference.InferenceApi.objective;
import static io.kvasir.kubernetes.inference.InferenceApi.pool;
import static io.kvasir.kubernetes.inference.InferenceApi.rewrite;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.kubernetes.Definition;
import io.kvasir.kubernetes.FakeKubernetes;
import io.kvasir.kubernetes.ObjectKey;
import io.kvasir.kubernetes.ObjectWatch;
import io.kvasir.pools.ModelRewrite;
import io.kvasir.pools.Pool;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The objects that describe inference pools, from an API server over real HTTP. */
final class InferenceObjectsTest {
  private static final ObjectWatch.Pace PACE = new ObjectWatch.Pace(Duration.ofHours(1), Duration.ofMillis(10));

  private final FakeKubernetes kubernetes = new FakeKubernetes();
  private final List<AutoCloseable> opened = new ArrayList<>(List.of(kubernetes));
  private Path token = Path.of("");

  InferenceObjectsTest() throws Exception {
    InferenceApi.install(kubernetes);
  }

  @BeforeEach
  void write(@TempDir Path directory) throws Exception {
    token = Files.writeString(directory.resolve("token"), "secret\n");
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
  }

  @Test
  void poolsOfSeveralNamespaces_withWhatBelongsToThem_areThePickers() throws Exception {
    kubernetes.put(POOLS, pool("a", "llama", "vllm", "{\"number\": 8000}, {\"number\": 8001}"));
    kubernetes.put(POOLS, pool("b", "llama", "sglang", "{\"number\": 30000}"));
    kubernetes.put(POOLS, pool("elsewhere", "llama", "x", "{\"number\": 1}"));
    kubernetes.put(OBJECTIVES, objective("a", "batch", "llama", "-1"));
    String weighted = "[{\"matches\": [{\"model\": {\"value\": \"gpt-4\"}}], "
        + "\"targets\": [{\"modelRewrite\": \"big\", \"weight\": 3}, {\"modelRewrite\": \"small\", \"weight\": 1}]}]";
    kubernetes.put(REWRITES, rewrite("a", "young", "llama", "2026-02-01T00:00:00Z", "[{\"targets\": "
        + "[{\"modelRewrite\": \"any\"}]}]"));
    kubernetes.put(REWRITES, rewrite("a", "zold", "llama", "2026-01-01T00:00:00Z", weighted));
    InferenceObjects objects = start("a", "b");
    await(objects::isComplete);
    assertThat(objects.forPicker().pools()).containsExactly(
        Pool.labelled("a", "llama", List.of(8000, 8001), Set.of("llama-picker.a")),
        Pool.labelled("b", "llama", List.of(30_000), Set.of("llama-picker.b")));
    assertThat(objects.forPicker().priority("a/llama", "batch")).isEqualTo(-1);
    assertThat(objects.forPicker().rewrites().getFirst().rules().getFirst().models()).containsExactly("gpt-4");
    assertThat(objects.forPicker().rewritten("a/llama", "gpt-4", 0.8))
        .isEqualTo(new ModelRewrite.Choice("zold", true, "small"));
    assertThat(objects.forPicker().rewritten("a/llama", "other", 0))
        .isEqualTo(new ModelRewrite.Choice("young", false, "any"));
    assertThat(objects.problems()).isEmpty();
  }

  @Test
  void objectThatBecomesWrong_staysInForceAsItWas_andIsNamed() throws Exception {
    kubernetes.put(POOLS, pool("a", "llama", "vllm", "{\"number\": 8000}"));
    kubernetes.put(OBJECTIVES, objective("a", "batch", "llama", "-1"));
    InferenceObjects objects = start("a");
    await(objects::isComplete);
    kubernetes.put(POOLS, pool("a", "llama", "vllm", "{\"number\": 8000}, {\"number\": 8000}"));
    kubernetes.put(POOLS, pool("a", "new", "vllm", "{\"number\": 70000}"));
    kubernetes.put(OBJECTIVES, objective("a", "batch", "llama", "\"high\""));
    kubernetes.put(OBJECTIVES, objective("a", "lost", "none", "1"));
    await(() -> objects.problems().size() == 5);
    assertThat(objects.problems()).extracting(Problem::what).containsExactlyInAnyOrder(
        "InferencePool a/llama: spec.targetPorts has 8000 twice",
        "InferencePool a/new: spec.targetPorts has 70000 where a port from 1 to 65535 is needed",
        "InferencePool a/new: spec.targetPorts needs 1 to 8 ports, not 0",
        "InferenceObjective a/batch: spec.priority has to be a whole number",
        "InferenceObjective a/lost: spec.poolRef names a/none, and there is no such InferencePool");
    assertThat(objects.forPicker().pools()).singleElement().extracting(Pool::targetPorts).isEqualTo(List.of(8000));
    assertThat(objects.forPicker().priority("a/llama", "batch")).isEqualTo(-1);
  }

  @Test
  void wrongRewrites_areNamedByTheirFields() throws Exception {
    kubernetes.put(POOLS, pool("a", "llama", "vllm", "{\"number\": 8000}"));
    Map<String, String> wrong = Map.of(
        "some", "[{\"targets\": [{\"modelRewrite\": \"m\", \"weight\": 1}, {\"modelRewrite\": \"n\"}]}]",
        "prefix", "[{\"matches\": [{\"model\": {\"type\": \"Prefix\", \"value\": \"m\"}}], \"targets\": "
            + "[{\"modelRewrite\": \"m\"}]}]",
        "none", "[{}]",
        "heavy", "[{\"targets\": [{\"modelRewrite\": \"m\", \"weight\": 1000001}]}]");
    for (Map.Entry<String, String> each : wrong.entrySet()) {
      kubernetes.put(REWRITES, rewrite("a", each.getKey(), "llama", "2026-01-01T00:00:00Z", each.getValue()));
    }
    InferenceObjects objects = start("a");
    await(objects::isComplete);
    assertThat(objects.problems()).extracting(Problem::what).containsExactlyInAnyOrder(
        "InferenceModelRewrite a/some: spec.rules[0].targets has weights on some only: give all of them one, or none",
        "InferenceModelRewrite a/prefix: spec.rules[0].matches[0].model.type is Prefix; only Exact is known",
        "InferenceModelRewrite a/none: spec.rules[0].targets is empty: which model do these requests get?",
        "InferenceModelRewrite a/heavy: spec.rules[0].targets has the weight 1000001; it has to be from 1 to 1000000");
    assertThat(objects.forPicker().rewrites()).isEmpty();
  }

  @Test
  void missingDefinitions_areSurvived_andTheOldGroupIsReadWhereTheNewIsNot() throws Exception {
    kubernetes.uninstall(OBJECTIVES);
    kubernetes.uninstall(REWRITES);
    kubernetes.install(Definition.published("inferenceobjectives"));
    kubernetes.put(POOLS, pool("a", "llama", "vllm", "{\"number\": 8000}"));
    kubernetes.put(OLD_OBJECTIVES, objective("a", "batch", "llama", "7"));
    InferenceObjects objects = start("");
    await(objects::isComplete);
    assertThat(objects.forPicker().priority("a/llama", "batch")).isEqualTo(7);
    assertThat(objects.problems()).isEmpty();
    kubernetes.install(InferenceApi.definitions().getLast());
    kubernetes.put(
        REWRITES,
        rewrite("a", "r", "llama", "2026-01-01T00:00:00Z", "[{\"targets\": [{\"modelRewrite\": \"any\"}]}]"));
    await(() -> !objects.forPicker().rewrites().isEmpty());
  }

  @Test
  void missingPools_areAProblem_andAnOutageKeepsThem() throws Exception {
    kubernetes.uninstall(POOLS);
    InferenceObjects objects = start("a");
    await(objects::isComplete);
    assertThat(objects.problems()).singleElement().extracting(Problem::what).asString()
        .contains("404", "could not find", "InferencePool");
    InferenceApi.install(kubernetes);
    kubernetes.put(POOLS, pool("a", "llama", "vllm", "{\"number\": 8000}"));
    await(() -> objects.pools().size() == 1 && objects.problems().isEmpty());
    kubernetes.stop();
    await(() -> objects.problems().size() == 3);
    assertThat(objects.pools()).extracting(InferencePool::key).containsExactly(new ObjectKey("a", "llama"));
  }

  @Test
  void whatWasNeverRead_isAnObstacle_butNoLaterOutage() throws Exception {
    kubernetes.uninstall(OBJECTIVES);
    kubernetes.deny("list", REWRITES);
    InferenceObjects objects = start("a");
    assertThat(objects.obstacle()).isPresent();
    await(() -> objects.isComplete() && objects.obstacle().orElseThrow().what().contains("403"));
    assertThat(objects.obstacle().orElseThrow().what())
        .startsWith("objects of kind InferenceModelRewrite have not been read yet");
    kubernetes.allow("list", REWRITES);
    await(() -> objects.obstacle().isEmpty());
    kubernetes.fail(503);
    await(() -> !objects.problems().isEmpty());
    assertThat(objects.obstacle()).isEmpty();
  }

  private InferenceObjects start(String... namespaces) {
    InferenceMetrics metrics = new InferenceMetrics(new Metrics(new PrometheusRegistry()));
    InferenceObjects objects =
        new InferenceObjects(kubernetes.connection(token), List.of(namespaces), PACE, metrics);
    opened.add(objects);
    objects.start();
    return objects;
  }
}
