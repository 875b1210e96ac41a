package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import io.kvasir.Await;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.http.ReloadingTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.http.TlsFiles.Verification;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node that speaks TLS with its clients and with an engine; both sides want certificates of each other. */
final class TlsIT {
  private static final String BODY = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hej\"}]}";
  private static final String ANSWER = "{\"choices\":[]}";

  @TempDir private Path directory = Path.of("");
  private Certificates certificates = new Certificates(Path.of(""));
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private @Nullable HttpsServer engine;
  private volatile String forwardedProto = "";

  @BeforeEach
  void start() throws Exception {
    certificates =
        new Certificates(directory)
            .authority("ca").server("gateway", "ca").server("engine", "ca").server("client", "ca")
            .authority("other-ca").server("stranger", "other-ca");
    HttpsServer server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    SSLContext context = tls("engine");
    server.setHttpsConfigurator(new HttpsConfigurator(context) {
      @Override
      public void configure(HttpsParameters parameters) {
        SSLParameters wanted = context.getDefaultSSLParameters();
        wanted.setNeedClientAuth(true);
        parameters.setSSLParameters(wanted);
      }
    });
    server.createContext("/", this::answer);
    server.start();
    engine = server;
  }

  @AfterEach
  void stop() {
    if (engine != null) {
      engine.stop(0);
    }
    threads.close();
  }

  @Test
  void clientsAndEngines_areReachedByTls_withCertificatesOnBothSides() throws Exception {
    try (Node node = TestNodes.start(settings("ca", "gateway"))) {
      Await.await("the engine answers probes", () -> DemoCommand.healthy(node) == 1);
      assertThat(node.gatewayUrl().getScheme()).isEqualTo("https");

      HttpResponse<String> answer = post(node, tls("client"));

      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).isEqualTo(ANSWER);
      assertThat(forwardedProto).isEqualTo("https");
      assertThatThrownBy(() -> post(node, tls(null))).isInstanceOf(IOException.class);
      assertThatThrownBy(() -> post(node, tls("stranger"))).isInstanceOf(IOException.class);
    }
  }

  /** The probe's refusal takes the worker out, so no request reaches an engine that cannot be trusted. */
  @Test
  void engineOfAnotherAuthority_isNotUsed() throws Exception {
    try (Node node = TestNodes.start(settings("other-ca", "gateway"))) {
      HttpResponse<String> answer = post(node, tls("client"));

      assertThat(answer.statusCode()).isGreaterThanOrEqualTo(500);
      assertThat(forwardedProto).isEmpty();
    }
  }

  private String settings(String engineAuthority, String own) {
    return """
        kvasir {
          gateway.tls { certificate = "%s", key = "%s", client-authority = "%s" }
          execution {
            max-attempts = 1
            tls { authority = "%s", certificate = "%s", key = "%s" }
          }
          pods = [{ name = e, url = "https://127.0.0.1:%d", models = [m] }]
        }
        """
        .formatted(
            certificates.certificate(own), certificates.key(own), certificates.certificate("ca"),
            certificates.certificate(engineAuthority), certificates.certificate(own), certificates.key(own),
            engine == null ? 0 : engine.getAddress().getPort());
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      byte[] body = exchange.getRequestBody().readAllBytes();
      if (body.length > 0) {
        forwardedProto = String.valueOf(exchange.getRequestHeaders().getFirst("X-Forwarded-Proto"));
      }
      byte[] answer = ANSWER.getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      exchange.sendResponseHeaders(200, answer.length);
      exchange.getResponseBody().write(answer);
    }
  }

  private static HttpResponse<String> post(Node node, SSLContext tls) throws Exception {
    try (HttpClient client = HttpClient.newBuilder().sslContext(tls).build()) {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + node.gateway().getPort() + "/v1/chat/completions"))
              .header("Content-Type", "application/json")
              .timeout(Duration.ofSeconds(30))
              .POST(HttpRequest.BodyPublishers.ofString(BODY))
              .build();
      return client.send(request, HttpResponse.BodyHandlers.ofString());
    }
  }

  /** TLS that trusts the authority, with a certificate or without. */
  private SSLContext tls(@Nullable String alias) throws IOException {
    return new ReloadingTls(
            new TlsFiles(
                alias == null ? null : Path.of(certificates.certificate(alias)),
                alias == null ? null : Path.of(certificates.key(alias)),
                Path.of(certificates.certificate("ca")),
                Verification.HOST,
                Duration.ofMinutes(1)),
            NanoClock.SYSTEM)
        .context();
  }
}
