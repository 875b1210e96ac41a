package io.kvasir.discovery;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.HttpCalls.Reply;
import io.kvasir.http.HttpCalls.Request;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
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
 * A client of the Kubernetes API for two calls: the list of pods and the watch of their changes. {@link HttpCalls} is
 * enough for that; the maintained Kubernetes clients would bring thirty libraries and every resource there is.
 */
final class KubernetesApi implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofSeconds(15);
  private static final int PAGE_PODS = 500;
  /** A pod has some 10 KB, and etcd stores no more than 1.5 MB. */
  private static final long MAX_PAGE_BYTES = 128 << 20;
  private static final int MAX_ERROR_BYTES = 4096;

  /** All pods, as of a resource version from which a watch may begin. */
  record PodList(List<JsonNode> pods, String resourceVersion) {}

  /** An error status of the API; {@link #isExpired} when the resource version is too old. */
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
  private final HttpCalls calls;

  KubernetesApi(KubernetesSettings settings) throws IOException {
    this.settings = settings;
    this.calls = new HttpCalls(TIMEOUT, "https".equals(settings.api().getScheme()) ? tls() : null);
  }

  /** Lists all pods, page by page. */
  PodList list() throws IOException, InterruptedException {
    List<JsonNode> pods = new ArrayList<>();
    String next = "";
    JsonNode page;
    do {
      Reply reply =
          calls.send(
              request("limit=" + PAGE_PODS + (next.isEmpty() ? "" : "&continue=" + encoded(next)))
                  .withMaxBytes(MAX_PAGE_BYTES));
      if (reply.status() != 200) {
        throw failure(reply.status(), reply.body());
      }
      page = reply.json();
      page.path("items").forEach(pods::add);
      next = page.at("/metadata/continue").asText("");
    } while (!next.isEmpty());
    return new PodList(pods, page.at("/metadata/resourceVersion").asText(""));
  }

  /** Opens a watch from a resource version on: one JSON object a line. The server ends it after {@code length}. */
  InputStream watch(String resourceVersion, Duration length) throws IOException, InterruptedException {
    HttpResponse<InputStream> response =
        calls.open(
            request(
                "watch=1&allowWatchBookmarks=true&resourceVersion=" + encoded(resourceVersion)
                    + "&timeoutSeconds=" + Math.max(1, length.toSeconds())));
    if (response.statusCode() != 200) {
      try (InputStream body = response.body()) {
        throw failure(response.statusCode(), body.readNBytes(MAX_ERROR_BYTES));
      }
    }
    return response.body();
  }

  private Request request(String query) throws IOException {
    URI uri =
        settings.api().resolve(
            "/api/v1/namespaces/" + encoded(settings.namespace()) + "/pods?labelSelector="
                + encoded(settings.selector()) + "&" + query);
    String token = Files.isReadable(settings.token()) ? Files.readString(settings.token()).strip() : null;
    return Request.get(uri, TIMEOUT).withHeader("Accept", "application/json").withBearer(token);
  }

  private static KubernetesApiException failure(int status, byte[] body) {
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
    return new KubernetesApiException(
        status, "the Kubernetes API answers " + status + (message.isEmpty() ? "" : ": " + message) + remedy);
  }

  private SSLContext tls() throws IOException {
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
    calls.close();
  }
}
