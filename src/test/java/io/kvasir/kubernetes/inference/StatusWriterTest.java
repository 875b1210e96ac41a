package io.kvasir.kubernetes.inference;

import static io.kvasir.Await.await;
import static io.kvasir.kubernetes.inference.InferenceApi.OBJECTIVES;
import static io.kvasir.kubernetes.inference.InferenceApi.POOLS;
import static io.kvasir.kubernetes.inference.InferenceApi.REWRITES;
import static io.kvasir.kubernetes.inference.InferenceApi.objective;
import static io.kvasir.kubernetes.inference.InferenceApi.pool;
import static io.kvasir.kubernetes.inference.InferenceApi.rewrite;
import static io.kvasir.kubernetes.inference.InferenceApi.service;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.kubernetes.ApiResource;
import io.kvasir.kubernetes.FakeKubernetes;
import io.kvasir.kubernetes.ObjectKey;
import io.kvasir.kubernetes.ObjectWatch;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The status of inference objects, written through an API server over real HTTP that holds it against the schemas. */
final class StatusWriterTest {
  private static final ObjectWatch.Pace PACE = new ObjectWatch.Pace(Duration.ofHours(1), Duration.ofMillis(10));
  private static final String PORT = "{\"number\": 8000}";
  private static final ObjectKey LLAMA = new ObjectKey("a", "llama");

  private final FakeKubernetes kubernetes = new FakeKubernetes();
  private final List<AutoCloseable> opened = new ArrayList<>(List.of(kubernetes));
  private Path token = Path.of("");
  private volatile Instant now = Instant.parse("2026-03-01T00:00:00.5Z");

  StatusWriterTest() throws Exception {
    InferenceApi.install(kubernetes);
    kubernetes.put(ApiResource.SERVICES, service("a", "llama-picker"));
    kubernetes.put(POOLS, pool("a", "llama", "vllm", PORT));
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
  void validObjects_areAccepted_onceAndForAll() throws Exception {
    kubernetes.put(OBJECTIVES, objective("a", "batch", "llama", "-1"));
    kubernetes.put(
        REWRITES,
        rewrite("a", "r", "llama", "2026-01-01T00:00:00Z", "[{\"targets\": [{\"modelRewrite\": \"any\"}]}]"));
    start(objects());
    await(() -> accepted(REWRITES, "r").equals("True"));
    assertThat(kubernetes.get(POOLS, LLAMA).at("/status/parents").toString())
        .isEqualTo(
            """
            [{"parentRef":{"group":"","kind":"Service","name":"llama-picker","namespace":"a"},\
            "controllerName":"kvasir.io/test","conditions":[\
            {"type":"Accepted","status":"True","observedGeneration":1,"lastTransitionTime":"2026-03-01T00:00:00Z",\
            "reason":"Accepted","message":"in force"},\
            {"type":"ResolvedRefs","status":"True","observedGeneration":1,"lastTransitionTime":"2026-03-01T00:00:00Z",\
            "reason":"ResolvedRefs","message":"the Service a/llama-picker is there"}]}]""");
    assertThat(accepted(OBJECTIVES, "batch")).isEqualTo("True");
    settle();
    assertThat(kubernetes.requests("patch", POOLS)).isEqualTo(1);
    assertThat(kubernetes.all(ApiResource.EVENTS)).isEmpty();
  }

  @Test
  void wrongObject_isNotAccepted_andGetsOneEvent() throws Exception {
    kubernetes.put(OBJECTIVES, objective("a", "batch", "llama", "1"));
    start(objects());
    await(() -> accepted(OBJECTIVES, "batch").equals("True"));
    now = Instant.parse("2026-03-02T00:00:00Z");
    kubernetes.put(OBJECTIVES, objective("a", "batch", "llama", "\"high\""));
    await(() -> accepted(OBJECTIVES, "batch").equals("False"));
    JsonNode condition = kubernetes.get(OBJECTIVES, new ObjectKey("a", "batch")).at("/status/conditions/0");
    assertThat(condition.path("reason").asText()).isEqualTo("Invalid");
    assertThat(condition.path("message").asText()).isEqualTo("spec.priority has to be a whole number");
    assertThat(condition.path("observedGeneration").asInt()).isEqualTo(2);
    assertThat(condition.path("lastTransitionTime").asText()).isEqualTo("2026-03-02T00:00:00Z");
    settle();
    assertThat(kubernetes.all(ApiResource.EVENTS)).singleElement().satisfies(event -> {
      assertThat(event.path("type").asText()).isEqualTo("Warning");
      assertThat(event.path("message").asText()).isEqualTo("spec.priority has to be a whole number");
      assertThat(event.at("/involvedObject/kind").asText()).isEqualTo("InferenceObjective");
      assertThat(event.at("/involvedObject/uid")).isEqualTo(
          kubernetes.get(OBJECTIVES, new ObjectKey("a", "batch")).at("/metadata/uid"));
    });
    kubernetes.put(OBJECTIVES, objective("a", "batch", "llama", "2"));
    await(() -> accepted(OBJECTIVES, "batch").equals("True"));
  }

  @Test
  void pickerThatIsNotThere_isAnUnresolvedReference_untilItIs() throws Exception {
    kubernetes.delete(ApiResource.SERVICES, new ObjectKey("a", "llama-picker"));
    InferenceObjects objects = objects();
    start(objects);
    await(() -> condition("ResolvedRefs").path("status").asText().equals("False"));
    assertThat(condition("ResolvedRefs").path("reason").asText()).isEqualTo("InvalidExtensionRef");
    assertThat(condition("ResolvedRefs").path("message").asText()).isEqualTo("there is no Service a/llama-picker");
    assertThat(condition("Accepted").path("status").asText()).isEqualTo("True");
    kubernetes.put(ApiResource.SERVICES, service("a", "llama-picker").replace("ClusterIP", "ExternalName"));
    await(() -> condition("ResolvedRefs").path("message").asText().contains("is an ExternalName"));
    kubernetes.put(ApiResource.SERVICES, service("a", "llama-picker"));
    await(() -> condition("ResolvedRefs").path("status").asText().equals("True"));
  }

  @Test
  void whatAGatewayWroteMeanwhile_stays() throws Exception {
    InferenceObjects objects = objects();
    kubernetes.hold();
    String entry = "{\"parentRef\": {\"name\": \"gateway\"}, \"controllerName\": \"istio.io/gateway-controller\"}";
    String pool = pool("a", "llama", "vllm", PORT).strip();
    kubernetes.put(
        POOLS, pool.substring(0, pool.length() - 1) + ", \"status\": {\"parents\": [" + entry + "]}}");
    start(objects);
    await("a write that was overtaken and made anew", () -> parents().size() == 2);
    assertThat(parents().get(0).path("controllerName").asText()).isEqualTo("istio.io/gateway-controller");
    assertThat(parents().get(1).path("controllerName").asText()).isEqualTo("kvasir.io/test");
    assertThat(kubernetes.requests("patch", POOLS)).isEqualTo(2);
    JsonNode written = kubernetes.get(POOLS, LLAMA);
    kubernetes.release();
    settle();
    assertThat(kubernetes.get(POOLS, LLAMA)).as("nothing more to write").isEqualTo(written);
  }

  @Test
  void twoWritersForAMoment_writeTheSame() throws Exception {
    StatusWriter leaving = start(objects());
    start(objects());
    settle();
    assertThat(parents()).hasSize(1);
    leaving.close();
    kubernetes.put(POOLS, pool("a", "llama", "vllm", "{\"number\": 9000}"));
    await(() -> condition("Accepted").path("observedGeneration").asInt() == 2);
  }

  @Test
  void missingRight_isAProblem_andDoesNotHinderOthers() throws Exception {
    kubernetes.deny("patch status of", POOLS);
    kubernetes.put(OBJECTIVES, objective("a", "batch", "llama", "-1"));
    StatusWriter writer = start(objects());
    await(() -> accepted(OBJECTIVES, "batch").equals("True") && writer.problem().isPresent());
    assertThat(writer.problem().orElseThrow().what())
        .contains("403", "inferencepools/status", "cannot be written");
    kubernetes.allow("patch status of", POOLS);
    await(() -> writer.problem().isEmpty() && parents().size() == 1);
  }

  private InferenceObjects objects() {
    InferenceObjects objects =
        new InferenceObjects(kubernetes.connection(token), List.of("a"), PACE, metrics());
    opened.add(objects);
    objects.start();
    await(objects::isComplete);
    return objects;
  }

  private StatusWriter start(InferenceObjects objects) {
    StatusWriter writer =
        new StatusWriter(
            objects, kubernetes.connection(token), "kvasir.io/test", Duration.ofMillis(100), metrics(), () -> now);
    opened.add(writer);
    return writer;
  }

  private static InferenceMetrics metrics() {
    return new InferenceMetrics(new Metrics(new PrometheusRegistry()));
  }

  /** Waits until the writers have seen everything: a pass after this object was put has written its status. */
  private void settle() throws Exception {
    kubernetes.put(OBJECTIVES, objective("a", "last", "llama", "0"));
    await(() -> accepted(OBJECTIVES, "last").equals("True"));
  }

  private String accepted(ApiResource resource, String name) {
    return kubernetes.get(resource, new ObjectKey("a", name)).at("/status/conditions/0/status").asText();
  }

  private JsonNode parents() {
    return kubernetes.get(POOLS, LLAMA).at("/status/parents");
  }

  private JsonNode condition(String type) {
    return new Condition(type, "", "", "").in(parents().at("/0/conditions"));
  }
}
