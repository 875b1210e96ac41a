package io.kvasir.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.kvasir.kubernetes.PathReviews.Finding;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reviews of tokens by an API server over real HTTP. */
final class PathReviewsTest {
  private static final ApiResource TOKENS = new ApiResource("authentication.k8s.io", "v1", "tokenreviews");
  private static final ApiResource ACCESSES = new ApiResource("authorization.k8s.io", "v1", "subjectaccessreviews");

  private final FakeKubernetes kubernetes = new FakeKubernetes();
  private final AtomicLong now = new AtomicLong();
  private PathReviews reviews = reviews(Path.of(""));

  PathReviewsTest() throws Exception {
    kubernetes.user("prometheus-token", "system:serviceaccount:monitoring:prometheus");
    kubernetes.user("eve-token", "nobody");
  }

  @BeforeEach
  void write(@TempDir Path directory) throws Exception {
    reviews = reviews(Files.writeString(directory.resolve("token"), "secret\n"));
  }

  @AfterEach
  void close() {
    kubernetes.close();
  }

  @Test
  void whoMayRead_isAskedOnceInAWhile() throws Exception {
    assertThat(finding("prometheus-token")).isEqualTo(new Finding.Allowed());
    now.addAndGet(Duration.ofSeconds(59).toNanos());
    assertThat(finding("prometheus-token")).isEqualTo(new Finding.Allowed());
    assertThat(kubernetes.requests("create", TOKENS)).isEqualTo(1);
    now.addAndGet(Duration.ofSeconds(2).toNanos());
    kubernetes.revoke("prometheus-token");
    assertThat(finding("prometheus-token")).isEqualTo(new Finding.Unknown());
    assertThat(kubernetes.requests("create", TOKENS)).isEqualTo(2);
  }

  @Test
  void tokenOfNobody_andOwnersWithoutTheRight_areToldApart_andAskedAboutAgainSooner() throws Exception {
    assertThat(finding("made-up")).isEqualTo(new Finding.Unknown());
    assertThat(kubernetes.requests("create", ACCESSES)).isZero();
    assertThat(finding("eve-token")).isEqualTo(new Finding.Forbidden("nobody"));
    assertThat(finding("eve-token")).isEqualTo(new Finding.Forbidden("nobody"));
    assertThat(kubernetes.requests("create", ACCESSES)).isEqualTo(1);
    now.addAndGet(Duration.ofSeconds(11).toNanos());
    kubernetes.user("eve-token", "eve");
    assertThat(finding("eve-token")).isEqualTo(new Finding.Allowed());
  }

  @Test
  void withoutAnAnswer_onlyThoseMayWhoWereJustAskedAbout() throws Exception {
    assertThat(finding("prometheus-token")).isEqualTo(new Finding.Allowed());
    assertThat(reviews.problem()).isEmpty();
    kubernetes.fail(503);
    assertThat(finding("secret")).isInstanceOf(Finding.Unanswered.class).asString().contains("503");
    assertThat(finding("prometheus-token")).isEqualTo(new Finding.Allowed());
    assertThat(reviews.problem().orElseThrow().line()).contains("/metrics", "503", "tokenreviews");
    now.addAndGet(Duration.ofMinutes(2).toNanos());
    assertThat(finding("prometheus-token")).isInstanceOf(Finding.Unanswered.class);
    kubernetes.fail(0);
    assertThat(finding("prometheus-token")).as("failures are not remembered").isEqualTo(new Finding.Allowed());
    assertThat(reviews.problem()).isEmpty();
  }

  @Test
  void missingRight_isNamed() throws Exception {
    kubernetes.deny("create", ACCESSES);
    assertThat(finding("prometheus-token")).isInstanceOf(Finding.Unanswered.class).asString()
        .contains("403", "no right to create subjectaccessreviews.authorization.k8s.io");
  }

  @Test
  void tokensThatAreMadeUp_doNotKeepAReaderOut(@TempDir Path directory) throws Exception {
    CountDownLatch answer = new CountDownLatch(1);
    CountDownLatch asked = new CountDownLatch(8);
    HttpServer api = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    try {
      api.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
      api.createContext("/", exchange -> {
        if (new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8).contains("made-up")) {
          asked.countDown();
          try {
            answer.await();
          } catch (InterruptedException stopping) {
            Thread.currentThread().interrupt();
          }
        }
        byte[] yes = "{\"status\":{\"authenticated\":true,\"allowed\":true,\"user\":{\"username\":\"u\"}}}"
            .getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(201, yes.length);
        exchange.getResponseBody().write(yes);
        exchange.close();
      });
      api.start();
      Path own = Files.writeString(directory.resolve("own"), "secret\n");
      reviews =
          new PathReviews(
              new KubernetesConnection(
                  URI.create("http://127.0.0.1:" + api.getAddress().getPort()), own, Path.of("")),
              "/metrics", new Metrics(new PrometheusRegistry()), now::get);
      assertThat(finding("reader")).isEqualTo(new Finding.Allowed());
      now.addAndGet(Duration.ofMinutes(2).toNanos());
      for (int i = 0; i < 8; i++) {
        reviews.of("made-up-" + i);
      }
      asked.await();
      assertThat(finding("another")).isInstanceOf(Finding.Unanswered.class);
      assertThat(finding("reader")).isEqualTo(new Finding.Allowed());
    } finally {
      answer.countDown();
      api.stop(0);
    }
  }

  private Finding finding(String token) throws Exception {
    return reviews.of(token).toCompletableFuture().get(1, TimeUnit.MINUTES);
  }

  private PathReviews reviews(Path token) {
    return new PathReviews(
        kubernetes.connection(token), "/metrics", new Metrics(new PrometheusRegistry()), now::get);
  }
}
