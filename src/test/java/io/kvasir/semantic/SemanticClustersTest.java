package io.kvasir.semantic;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.load.Ports;
import io.kvasir.routing.SemanticCluster;
import io.kvasir.semantic.EmbeddingException.Reason;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Semantic clusters over real sockets: the clusters of texts, and failures of the endpoint. */
final class SemanticClustersTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final SemanticSettings.Cluster CODE = cluster("code", 0.7, "code", "more code");
  private static final SemanticSettings.Cluster COOK = cluster("cook", 0.7, "cook");
  private static final SemanticCluster CODE_FOUND = new SemanticCluster("code", "skill=code,tier=gold");
  private static final SemanticCluster COOK_FOUND = new SemanticCluster("cook", "skill=cook,tier=gold");

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final CountDownLatch released = new CountDownLatch(1);
  private @Nullable FakeEmbeddings endpoint;
  private @Nullable SemanticClusters clusters;

  private Duration budget = TIMEOUT;
  private Duration timeout = TIMEOUT;
  private int concurrency = 8;

  @AfterEach
  void stop() {
    released.countDown();
    if (clusters != null) {
      clusters.close();
    }
    if (endpoint != null) {
      endpoint.close();
    }
  }

  @Test
  void text_belongsToTheNearestCluster() throws Exception {
    start(CODE, COOK);

    assertThat(of("please code that")).isEqualTo(CODE_FOUND);
    assertThat(of("cook and cook")).isEqualTo(COOK_FOUND);
    assertThat(of("a journey of travel and travel")).isEqualTo(SemanticCluster.NONE);
    assertThat(clusters().problems()).isEmpty();
    assertThat(counted("kvasir_semantic_requests", "code")).isEqualTo(1);
    assertThat(counted("kvasir_semantic_requests", "none")).isEqualTo(1);
    assertThat(counted("kvasir_semantic_ready")).isEqualTo(1);
  }

  @Test
  void text_nearestToAClusterWhoseThresholdItMisses_belongsToTheNextThatItReaches() throws Exception {
    start(cluster("code", 0.99, "code"), cluster("cook", 0.5, "cook"));

    assertThat(of("code code code cook cook")).isEqualTo(COOK_FOUND);
  }

  @Test
  void endpoint_receivesModelAndKey_andTruncatedTexts() throws Exception {
    start(CODE);

    of("code " + "x".repeat(200) + "\ud83d");

    FakeEmbeddings fake = endpoint();
    assertThat(fake.calls).containsExactly(List.of("code", "more code"), List.of("code " + "x".repeat(95)));
    assertThat(fake.authorizations).containsOnly("Bearer secret");
    assertThat(fake.models).containsOnly("embedder");
    assertThat(settings(fake.url(), CODE)).asString().contains("embedder").doesNotContain("secret");
  }

  @Test
  void halfOfACharacter_isEmbedded() throws Exception {
    start(CODE);

    assertThat(of("code \ud83d")).isEqualTo(CODE_FOUND);
  }

  @Test
  void sameText_isEmbeddedOnce_alsoConcurrently() throws Exception {
    start(CODE);
    hold();
    List<CompletableFuture<SemanticCluster>> burst =
        List.of(clusterOf("code again"), clusterOf("code again"), clusterOf("code again"));
    released.countDown();

    for (CompletableFuture<SemanticCluster> one : burst) {
      assertThat(one.join()).isEqualTo(CODE_FOUND);
    }
    assertThat(of("code again")).isEqualTo(CODE_FOUND);
    assertThat(endpoint().calls).hasSize(2);
    assertThat(counted("kvasir_semantic_embeddings", "endpoint")).isEqualTo(1);
    assertThat(counted("kvasir_semantic_embeddings", "flight")).isEqualTo(2);
    assertThat(counted("kvasir_semantic_embeddings", "memory")).isEqualTo(1);
  }

  @Test
  void cancelledRequest_doesNotCancelOthers() throws Exception {
    start(CODE);
    hold();
    CompletableFuture<SemanticCluster> first = clusterOf("code again");
    CompletableFuture<SemanticCluster> second = clusterOf("code again");
    first.cancel(true);
    released.countDown();

    assertThat(second.join()).isEqualTo(CODE_FOUND);
  }

  @Test
  void endpointDownAtTheStart_noClusters_untilItAnswers() throws Exception {
    int port = Ports.free();
    start(settings(URI.create("http://127.0.0.1:" + port + "/v1/embeddings"), CODE));

    assertThatFails("code", Reason.STARTING);
    await("the reason to be reported", () -> clusters().problems().toString().contains("127.0.0.1:" + port));
    assertThat(counted("kvasir_semantic_ready")).isZero();

    endpoint = new FakeEmbeddings(port);
    await("the clusters to be in service", () -> clusters().problems().isEmpty());
    assertThat(of("code")).isEqualTo(CODE_FOUND);
    assertThat(counted("kvasir_semantic_failures", "starting")).isPositive();
    assertThat(counted("kvasir_semantic_ready")).isEqualTo(1);
  }

  @Test
  void slowEndpoint_costsTheBudgetAFewTimes_untilTheCircuitOpens() throws Exception {
    start(CODE);
    clusters().close();
    budget = Duration.ofMillis(50);
    hold();
    startAt(endpoint().url());
    released.countDown();
    await("the clusters to be in service", () -> clusters().problems().isEmpty());
    CountDownLatch again = hold();

    assertThatFails("code 1", Reason.LATE);
    assertThatFails("code 2", Reason.LATE);
    assertThatFails("code 3", Reason.LATE);
    // It lets one in each few milliseconds try.
    await("the circuit to be open, and to be told", () ->
        failure("code " + Math.random()) == Reason.CIRCUIT_OPEN
            && clusters().problems().stream().map(Object::toString).anyMatch(
                told -> told.contains("is unavailable") && told.contains(endpoint().url().toString())));

    again.countDown();
    await("the circuit to be closed", () -> failure("code " + Math.random()) == null);
    await("nothing to be degraded", () -> clusters().problems().isEmpty());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "no JSON", "", "[]", "{}", "{\"data\":[]}", "{\"data\":[{\"embedding\":[]}]}",
        "{\"data\":[{\"embedding\":\"AACAPw==\"}]}", "{\"data\":[{\"embedding\":[1,null,3]}]}",
        "{\"data\":[{\"embedding\":[0,0,0]}]}", "{\"data\":[{\"embedding\":[1e39,0,0]}]}",
        "{\"data\":[{\"index\":7,\"embedding\":[1,0,0]}]}",
        "{\"data\":[{\"embedding\":[1,0,0]},{\"embedding\":[1,0,0]}]}", "{\"data\":{\"embedding\":[1,0,0]}}"
      })
  void garbage_isNoCluster(String garbage) throws Exception {
    start(CODE);
    endpoint().script = (_, exchange) -> FakeEmbeddings.text(200, garbage, exchange);

    assertThatFails("code", Reason.GARBAGE);

    endpoint().script = FakeEmbeddings::vectors;
    assertThat(of("code")).isEqualTo(CODE_FOUND);
  }

  @Test
  void errors_areNoCluster_andAreNotCached() throws Exception {
    start(CODE);
    endpoint().script = (_, exchange) -> FakeEmbeddings.text(500, "{\"error\":{}}", exchange);

    assertThatFails("code", Reason.STATUS);

    endpoint().script = FakeEmbeddings::vectors;
    assertThat(of("code")).isEqualTo(CODE_FOUND);
  }

  @Test
  void stoppedEndpoint_isNoCluster() throws Exception {
    start(CODE);
    endpoint().close();

    assertThatFails("code", Reason.UNREACHABLE);
  }

  @Test
  void responseThatDoesNotEnd_timesOut_andItsPermitIsFreeAgain() throws Exception {
    timeout = Duration.ofMillis(300);
    concurrency = 1;
    start(CODE);
    endpoint().script = (_, exchange) -> {
      exchange.sendResponseHeaders(200, 1000);
      exchange.getResponseBody().write('{');
      exchange.getResponseBody().flush();
      awaitRelease(released);
    };

    assertThatFails("code", Reason.UNREACHABLE);

    endpoint().script = FakeEmbeddings::vectors;
    assertThat(of("code")).isEqualTo(CODE_FOUND);
  }

  @Test
  void callsBeyondTheMaximum_areNoCluster() throws Exception {
    concurrency = 1;
    start(CODE);
    hold();
    CompletableFuture<SemanticCluster> first = clusterOf("code 1");

    assertThatFails("code 2", Reason.BUSY);

    released.countDown();
    assertThat(first.join()).isEqualTo(CODE_FOUND);
    assertThat(of("code 2")).isEqualTo(CODE_FOUND);
  }

  @Test
  void anotherModelBehindTheEndpoint_embedsTheExamplesAnew() throws Exception {
    start(CODE);
    endpoint().script = (texts, exchange) -> FakeEmbeddings.vectors(texts, exchange, 5);

    assertThatFails("code", Reason.DIMENSION);

    await("the examples to be embedded anew", () -> clusters().problems().isEmpty());
    assertThat(of("code")).isEqualTo(CODE_FOUND);
  }

  @Test
  void newSettings_replaceThoseInService_whenTheirExamplesAreEmbedded() throws Exception {
    start(CODE);
    hold();
    clusters().configure(settings(endpoint().url(), COOK));

    assertThat(clusters().problems()).singleElement().asString().contains("from before");
    released.countDown();
    await("the others to be in service", () -> clusters().problems().isEmpty());
    assertThat(of("code")).isEqualTo(SemanticCluster.NONE);
    assertThat(of("cook")).isEqualTo(COOK_FOUND);
  }

  @Test
  void newSettingsWithAnEndpointThatIsDown_leaveThoseInService() throws Exception {
    start(CODE);
    URI nowhere = URI.create("http://127.0.0.1:" + Ports.free() + "/v1/embeddings");
    clusters().configure(settings(nowhere, COOK));

    await("the reason to be reported", () -> clusters().problems().toString().contains(nowhere.toString()));
    assertThat(of("code")).isEqualTo(CODE_FOUND);

    clusters().configure(settings(endpoint().url(), COOK));
    await("the others to be in service", () -> clusters().problems().isEmpty());
    assertThat(of("cook")).isEqualTo(COOK_FOUND);
  }

  /** The client takes no such address, and says so before there is a call. */
  @Test
  void callThatIsRejectedAtOnce_isReported_andTriedAgain() throws Exception {
    endpoint = new FakeEmbeddings();
    startAt(URI.create("ftp://127.0.0.1/v1/embeddings"));
    await("the reason to be reported", () -> clusters().problems().toString().contains("invalid URI scheme ftp"));

    clusters().configure(settings(endpoint.url(), CODE));
    await("the clusters to be in service", () -> clusters().problems().isEmpty());
    assertThat(of("code")).isEqualTo(CODE_FOUND);
  }

  @Test
  void noClusters_callNoEndpoint_untilThereAreSome() throws Exception {
    endpoint = new FakeEmbeddings();
    clusters = new SemanticClusters(settings(endpoint.url()), NanoClock.SYSTEM);
    clusters.start(new Metrics(registry));

    assertThat(of("code")).isEqualTo(SemanticCluster.NONE);
    assertThat(clusters.problems()).isEmpty();
    assertThat(counted("kvasir_semantic_ready")).isEqualTo(1);
    assertThat(endpoint.calls).isEmpty();

    clusters.configure(settings(endpoint.url(), CODE));
    await("the clusters to be in service", () -> clusters().problems().isEmpty());
    assertThat(of("code")).isEqualTo(CODE_FOUND);

    clusters.configure(settings(endpoint.url()));
    await("the clusters to be removed", () -> clusters().problems().isEmpty());
    assertThat(of("code")).isEqualTo(SemanticCluster.NONE);
  }

  @Test
  void oppositeExamples_areReported() throws Exception {
    endpoint = new FakeEmbeddings();
    endpoint.script = (texts, exchange) ->
        FakeEmbeddings.text(
            200, "{\"data\":[{\"index\":0,\"embedding\":[1,0]},{\"index\":1,\"embedding\":[-1,0]}]}", exchange);
    startAt(endpoint.url());

    await("the reason to be reported", () -> clusters().problems().toString().contains("the examples of code"));
  }

  private void start(SemanticSettings.Cluster... described) throws Exception {
    endpoint = new FakeEmbeddings();
    start(settings(endpoint.url(), described));
    await("the clusters to be in service", () -> clusters().problems().isEmpty());
  }

  private void startAt(URI url) {
    start(settings(url, CODE));
  }

  private void start(SemanticSettings settings) {
    registry.clear();
    clusters = new SemanticClusters(settings, NanoClock.SYSTEM);
    clusters.start(new Metrics(registry));
  }

  private SemanticSettings settings(URI url, SemanticSettings.Cluster... described) {
    return new SemanticSettings(
        new SemanticSettings.EmbeddingSettings(
            new SemanticSettings.EndpointSettings(url, "embedder", "secret"),
            budget,
            new SemanticSettings.CallLimits(timeout, Duration.ofMillis(200), concurrency),
            100,
            100),
        List.of(described));
  }

  private static SemanticSettings.Cluster cluster(String name, double threshold, String... examples) {
    return new SemanticSettings.Cluster(name, List.of(examples), Map.of("tier", "gold", "skill", name), threshold);
  }

  /** From now on calls are answered when the latch is released. */
  private CountDownLatch hold() {
    CountDownLatch latch = released.getCount() == 0 ? new CountDownLatch(1) : released;
    endpoint().script = (texts, exchange) -> {
      awaitRelease(latch);
      FakeEmbeddings.vectors(texts, exchange);
    };
    return latch;
  }

  private static void awaitRelease(CountDownLatch latch) throws IOException {
    try {
      latch.await();
    } catch (InterruptedException stopped) {
      throw new IOException(stopped);
    }
  }

  private CompletableFuture<SemanticCluster> clusterOf(String text) {
    return clusters().of(text).toCompletableFuture();
  }

  private SemanticCluster of(String text) {
    return clusterOf(text).join();
  }

  private void assertThatFails(String text, Reason reason) {
    double before = counted("kvasir_semantic_failures", reason.label());
    CompletableFuture<SemanticCluster> cluster = clusterOf(text);
    assertThatThrownBy(cluster::join)
        .isInstanceOf(CompletionException.class)
        .cause()
        .isInstanceOfSatisfying(EmbeddingException.class, none -> assertThat(none.reason()).isEqualTo(reason));
    assertThat(counted("kvasir_semantic_failures", reason.label())).isEqualTo(before + 1);
  }

  private @Nullable Reason failure(String text) {
    try {
      of(text);
      return null;
    } catch (CompletionException failed) {
      return EmbeddingException.of(failed).reason();
    }
  }

  private double counted(String name, String... labels) {
    return TestMetrics.sum(registry, name, labels);
  }

  private FakeEmbeddings endpoint() {
    return Objects.requireNonNull(endpoint);
  }

  private SemanticClusters clusters() {
    return Objects.requireNonNull(clusters);
  }
}
