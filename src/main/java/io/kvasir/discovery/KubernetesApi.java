package io.kvasir.discovery;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * The two questions that Kubernetes is asked: which pods are there, and what becomes of them. The JDK's HTTP client is
 * enough for that; the well-kept Kubernetes clients would bring thirty libraries and every resource there is.
 */
final class KubernetesApi implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofSeconds(15);
  private static final int PAGE = 500;

  /** All pods at one moment. */
  record PodList(List<JsonNode> pods, String resourceVersion) {}

  /** The API refused; {@link #isExpired} when what was asked of is too long ago. */
  static final class KubernetesApiException extends IOException {
    private static final long serialVersionUID = 1L;
    private final int status;

    KubernetesApiException(int status, String message) {
      super(message);
      this.status = status;
    }

    boolean isExpired() {
      return status == 410;
    }
  }

  private final KubernetesSettings settings;
  private final HttpClient http;

  KubernetesApi(KubernetesSettings settings) throws IOException {
    this.settings = settings;
    HttpClient.Builder builder =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(TIMEOUT);
    if ("https".equals(settings.api().getScheme())) {
      builder.sslContext(trusting());
    }
    this.http = builder.build();
  }

  /** Lists all pods, page by page. */
  PodList list() throws IOException, InterruptedException {
    List<JsonNode> pods = new ArrayList<>();
    String next = "";
    JsonNode page;
    do {
      HttpResponse<InputStream> response =
          send("limit=" + PAGE + (next.isEmpty() ? "" : "&continue=" + encoded(next)));
      try (InputStream body = response.body()) {
        page = JSON.readTree(body);
      }
      page.path("items").forEach(pods::add);
      next = page.at("/metadata/continue").asText("");
    } while (!next.isEmpty());
    return new PodList(pods, page.at("/metadata/resourceVersion").asText(""));
  }

  /** Opens a watch from a moment on: one JSON object a line. The server ends it after {@code length}. */
  InputStream watch(String resourceVersion, Duration length) throws IOException, InterruptedException {
    return send(
            "watch=1&allowWatchBookmarks=true&resourceVersion=" + encoded(resourceVersion)
                + "&timeoutSeconds=" + Math.max(1, length.toSeconds()))
        .body();
  }

  private HttpResponse<InputStream> send(String query) throws IOException, InterruptedException {
    URI uri =
        settings.api().resolve(
            "/api/v1/namespaces/" + encoded(settings.namespace()) + "/pods?labelSelector="
                + encoded(settings.selector()) + "&" + query);
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri).timeout(TIMEOUT).header("Accept", "application/json");
    if (Files.isReadable(settings.token())) {
      request.header("Authorization", "Bearer " + Files.readString(settings.token()).strip());
    }
    HttpResponse<InputStream> response = http.send(request.build(), BodyHandlers.ofInputStream());
    if (response.statusCode() != 200) {
      try (InputStream body = response.body()) {
        throw new KubernetesApiException(response.statusCode(), refusal(response.statusCode(), body.readNBytes(4096)));
      }
    }
    return response;
  }

  private static String refusal(int status, byte[] body) {
    String message;
    try {
      message = JSON.readTree(body).path("message").asText("");
    } catch (IOException notJson) {
      message = "";
    }
    String remedy =
        switch (status) {
          case 401 -> "; is the service account's token the right one?";
          case 403 -> "; the service account needs get, list and watch on pods (see cluster-configs/kubernetes)";
          default -> "";
        };
    return "the Kubernetes API answers " + status + (message.isEmpty() ? "" : ": " + message) + remedy;
  }

  private SSLContext trusting() throws IOException {
    try (InputStream in = Files.newInputStream(settings.authority())) {
      KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null, null);
      int count = 0;
      for (Certificate authority : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        trusted.setCertificateEntry("authority-" + count++, authority);
      }
      TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      managers.init(trusted);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, managers.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException wrong) {
      throw new IOException(settings.authority() + " has no certificates in PEM: " + wrong.getMessage(), wrong);
    }
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
