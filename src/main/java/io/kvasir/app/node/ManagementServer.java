package io.kvasir.app.node;

import static org.apache.pekko.http.javadsl.server.Directives.complete;
import static org.apache.pekko.http.javadsl.server.Directives.completeWithFuture;
import static org.apache.pekko.http.javadsl.server.Directives.concat;
import static org.apache.pekko.http.javadsl.server.Directives.extractRequest;
import static org.apache.pekko.http.javadsl.server.Directives.get;
import static org.apache.pekko.http.javadsl.server.Directives.onSuccess;
import static org.apache.pekko.http.javadsl.server.Directives.path;
import static org.apache.pekko.http.javadsl.server.Directives.pathPrefix;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.config.KvasirConfig.ManagementConfig;
import io.kvasir.console.ConsoleAssets;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.ListenerTls;
import io.kvasir.http.server.RequestFailure;
import io.kvasir.telemetry.Problem;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import org.apache.pekko.actor.ExtendedActorSystem;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.http.javadsl.ConnectionContext;
import org.apache.pekko.http.javadsl.Http;
import org.apache.pekko.http.javadsl.HttpsConnectionContext;
import org.apache.pekko.http.javadsl.ServerBinding;
import org.apache.pekko.http.javadsl.ServerBuilder;
import org.apache.pekko.http.javadsl.model.ContentTypes;
import org.apache.pekko.http.javadsl.model.HttpEntities;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.model.RequestEntity;
import org.apache.pekko.http.javadsl.model.StatusCodes;
import org.apache.pekko.http.javadsl.server.Route;
import org.apache.pekko.http.javadsl.settings.ServerSettings;
import org.apache.pekko.http.scaladsl.model.EntityStreamSizeException;
import org.apache.pekko.management.HealthCheckSettings;
import org.apache.pekko.management.javadsl.CheckResult;
import org.apache.pekko.management.javadsl.HealthChecks;
import org.apache.pekko.management.javadsl.PekkoManagement;
import org.apache.pekko.stream.SystemMaterializer;
import org.jspecify.annotations.Nullable;

/**
 * The management port: Pekko Management's health, cluster and sharding routes, and beside them
 * {@code /metrics}, {@code /admin}, {@code /console} and a {@code /ready} that lists what is missing or degraded.
 */
final class ManagementServer implements AutoCloseable {
  private static final int MAX_ADMIN_BODY = 1 << 20;

  /** What is read of a body that is too long, for its client to see the answer. */
  private static final int MAX_DISCARDED_BODY = 16 << 20;

  private static final Duration BODY_TIMEOUT = Duration.ofSeconds(10);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final ActorSystem<?> system;
  private final MetricsPage metrics;
  private final Readiness readiness;
  private final HttpHandler admin;
  private final HttpHandler console = new ConsoleAssets();
  private final HealthChecks checks;
  private final ServerBinding binding;

  /**
   * Binds the port.
   *
   * @param tls null for plain HTTP
   * @throws StartException when it is taken
   */
  ManagementServer(
      ActorSystem<?> system,
      ManagementConfig at,
      @Nullable ListenerTls tls,
      MetricsPage metrics,
      Readiness readiness,
      HttpHandler admin)
      throws StartException {
    this.system = system;
    this.metrics = metrics;
    this.readiness = readiness;
    this.admin = admin;
    this.checks =
        new HealthChecks(
            (ExtendedActorSystem) system.classicSystem(),
            HealthCheckSettings.create(system.settings().config().getConfig("pekko.management.health-checks")));
    try {
      ServerBuilder server =
          Http.get(system)
              .newServerAt(at.host(), at.port())
              .withSettings(ServerSettings.create(system.classicSystem()).withRemoteAddressAttribute(true));
      HttpsConnectionContext https = tls == null ? null : ConnectionContext.httpsServer(tls::engine);
      this.binding =
          (https == null ? server : server.enableHttps(https))
              .bind(routes(https))
              .toCompletableFuture()
              .join();
    } catch (CompletionException taken) {
      throw new StartException(
          "cannot listen on %s:%d for management: %s; set kvasir.management.port, or --management-port, to a free one"
              .formatted(at.host(), at.port(), rootMessage(taken)),
          taken);
    }
  }

  InetSocketAddress address() {
    return binding.localAddress();
  }

  @Override
  public void close() {
    binding.terminate(Duration.ofSeconds(2)).toCompletableFuture().join();
  }

  /** With TLS other nodes contact this one by https, as they find in its routes. */
  private Route routes(@Nullable HttpsConnectionContext https) {
    return concat(
        path("metrics", () -> get(() -> extractRequest(request -> completeWithFuture(metrics.answer(request))))),
        path("ready", () -> get(() -> onSuccess(readiness(), answer -> complete(answer)))),
        pathPrefix("admin", () -> extractRequest(request -> completeWithFuture(admin(request)))),
        pathPrefix("console", () -> extractRequest(request -> complete(console(request)))),
        PekkoManagement.get(system)
            .getRoutes(settings -> https == null ? settings : settings.withHttpsConnectionContext(https)));
  }

  /** Readiness may wait for another node, so it is evaluated off the dispatcher. */
  private CompletionStage<HttpResponse> readiness() {
    return checks.readyResult().thenApplyAsync(this::ready, ManagementServer::onVirtualThread);
  }

  private static void onVirtualThread(Runnable task) {
    Thread.ofVirtual().name("kvasir-management").start(task);
  }

  private HttpResponse ready(CheckResult platform) {
    List<String> missing = new ArrayList<>(readiness.obstacles().stream().map(Problem::line).toList());
    if (!readiness.isStandalone()) {
      platform.failure().ifPresent(missing::add);
    }
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("ready", missing.isEmpty());
    body.put("missing", missing);
    body.put("degraded", readiness.degradations().stream().map(Problem::line).toList());
    try {
      return HttpResponse.create()
          .withStatus(missing.isEmpty() ? StatusCodes.OK : StatusCodes.SERVICE_UNAVAILABLE)
          .withEntity(HttpEntities.create(ContentTypes.APPLICATION_JSON, JSON.writeValueAsBytes(body)));
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  private CompletionStage<HttpResponse> admin(HttpRequest request) {
    RequestEntity entity = request.entity();
    if (entity.getContentLengthOption().orElse(0) > MAX_ADMIN_BODY) {
      // While the client sends, an answer would be lost with the connection.
      return entity
          .withSizeLimit(MAX_DISCARDED_BODY)
          .discardBytes(SystemMaterializer.get(system).materializer())
          .completionStage()
          .handle((_, _) -> tooLong(request));
    }
    return entity
        .withSizeLimit(MAX_ADMIN_BODY)
        .toStrict(BODY_TIMEOUT.toMillis(), SystemMaterializer.get(system).materializer())
        .thenApplyAsync(
            strict -> AdminExchange.answer(admin, request, strict.getData().toArray()),
            ManagementServer::onVirtualThread)
        .exceptionally(failed -> withoutBody(request, failed));
  }

  /** Files at hand: whatever body came with the request is not read. */
  private HttpResponse console(HttpRequest request) {
    var _ = request.discardEntityBytes(system);
    return AdminExchange.answer(console, request, new byte[0]);
  }

  private HttpResponse withoutBody(HttpRequest request, Throwable failed) {
    return switch (failed instanceof CompletionException && failed.getCause() != null ? failed.getCause() : failed) {
      case EntityStreamSizeException _ -> tooLong(request);
      case TimeoutException _ ->
          AdminExchange.failure(
              admin, request,
              new RequestFailure(408, "the body was not there after %d s".formatted(BODY_TIMEOUT.toSeconds())));
      case Throwable other ->
          AdminExchange.failure(
              admin, request, new RequestFailure(400, "the body cannot be read: " + other.getMessage()));
    };
  }

  private HttpResponse tooLong(HttpRequest request) {
    return AdminExchange.failure(
        admin, request, new RequestFailure(413, "the body is longer than %d bytes".formatted(MAX_ADMIN_BODY)));
  }

  private static String rootMessage(Throwable thrown) {
    Throwable root = thrown;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return String.valueOf(root.getMessage());
  }
}
