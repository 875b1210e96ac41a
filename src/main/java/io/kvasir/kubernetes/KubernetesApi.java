package io.kvasir.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.HttpCalls.Reply;
import io.kvasir.http.HttpCalls.Request;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A client of the Kubernetes API for objects of any resource: lists page by page, watches, reads and creates them, and
 * changes their status. Objects are JSON as the API has it, so fields that are unknown do no harm. {@link HttpCalls} is
 * enough for that; the maintained Kubernetes clients would bring thirty libraries and every resource there is.
 * Thread-safe.
 */
public final class KubernetesApi implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofSeconds(15);
  private static final int PAGE_OBJECTS = 500;
  /** A pod has some 10 KB, and etcd stores no more than 1.5 MB. */
  private static final long MAX_PAGE_BYTES = 128 << 20;
  private static final int MAX_ERROR_BYTES = 4096;

  /** All objects of a selection, as of a resource version from which a watch may begin. */
  public record ObjectList(List<JsonNode> objects, String resourceVersion) {}

  private final KubernetesConnection connection;
  private final HttpCalls calls;

  /**
   * A client.
   *
   * @throws IOException when the certificates of the API's authority cannot be read
   */
  public KubernetesApi(KubernetesConnection connection) throws IOException {
    this.connection = connection;
    boolean encrypted = "https".equals(connection.api().getScheme());
    this.calls = new HttpCalls(TIMEOUT, encrypted ? tls(connection.authority()) : null);
  }

  /** Lists all objects of a selection, page by page. */
  public ObjectList list(ObjectSelection selection) throws IOException, InterruptedException {
    List<JsonNode> objects = new ArrayList<>();
    String next = "";
    JsonNode page;
    do {
      String query = "limit=" + PAGE_OBJECTS + (next.isEmpty() ? "" : "&continue=" + ApiResource.encoded(next));
      page =
          send(request("GET", selection.target() + query).withMaxBytes(MAX_PAGE_BYTES), "list", selection.resource());
      page.path("items").forEach(objects::add);
      next = page.at("/metadata/continue").asText("");
    } while (!next.isEmpty());
    return new ObjectList(objects, page.at("/metadata/resourceVersion").asText(""));
  }

  /** Opens a watch from a resource version on: one JSON object a line. The server ends it after {@code length}. */
  public InputStream watch(ObjectSelection selection, String resourceVersion, Duration length)
      throws IOException, InterruptedException {
    HttpResponse<InputStream> response =
        calls.open(
            request(
                "GET",
                selection.target() + "watch=1&allowWatchBookmarks=true&resourceVersion="
                    + ApiResource.encoded(resourceVersion) + "&timeoutSeconds=" + Math.max(1, length.toSeconds())));
    if (response.statusCode() != 200) {
      try (InputStream body = response.body()) {
        throw failure(response.statusCode(), body.readNBytes(MAX_ERROR_BYTES), "watch", selection.resource());
      }
    }
    return response.body();
  }

  /** Reads an object; empty when there is none. */
  public Optional<JsonNode> get(ApiResource resource, ObjectKey key) throws IOException, InterruptedException {
    try {
      return Optional.of(send(request("GET", path(resource, key)), "get", resource));
    } catch (KubernetesApiException refused) {
      if (refused.isMissing()) {
        return Optional.empty();
      }
      throw refused;
    }
  }

  /** Creates an object in a namespace; returns it as the API has stored or, for a review, answered it. */
  public JsonNode create(ApiResource resource, String namespace, JsonNode object)
      throws IOException, InterruptedException {
    Request request = request("POST", resource.path(namespace)).withJson(JSON.writeValueAsBytes(object));
    return send(request, "create", resource);
  }

  /**
   * Changes the status of an object by a merge patch, and returns the object. A patch that names the resource version
   * it was made for is refused when the object has changed since: see {@link KubernetesApiException#isConflict}.
   */
  public JsonNode patchStatus(ApiResource resource, ObjectKey key, JsonNode patch)
      throws IOException, InterruptedException {
    Request request =
        request("PATCH", path(resource, key) + "/status")
            .withHeader("Content-Type", "application/merge-patch+json")
            .withBody(JSON.writeValueAsBytes(patch));
    return send(request, "patch the status of", resource);
  }

  private static String path(ApiResource resource, ObjectKey key) {
    return resource.path(key.namespace()) + "/" + ApiResource.encoded(key.name());
  }

  private JsonNode send(Request request, String verb, ApiResource resource) throws IOException, InterruptedException {
    Reply reply = calls.send(request);
    if (reply.status() != 200 && reply.status() != 201) {
      throw failure(reply.status(), reply.body(), verb, resource);
    }
    return reply.json();
  }

  private Request request(String method, String target) throws IOException {
    Path file = connection.token();
    String token = Files.isReadable(file) ? Files.readString(file).strip() : null;
    return Request.of(method, connection.api().resolve(target), TIMEOUT)
        .withHeader("Accept", "application/json")
        .withBearer(token);
  }

  private static KubernetesApiException failure(int status, byte[] body, String verb, ApiResource resource) {
    String message;
    try {
      message = JSON.readTree(body).path("message").asText("");
    } catch (IOException notJson) {
      message = "";
    }
    String remedy =
        switch (status) {
          case 401 -> "; is the service account's token the right one?";
          case 403 -> "; the service account has no right to " + verb + " " + resource + " (see cluster-configs)";
          default -> "";
        };
    return new KubernetesApiException(
        status,
        "the Kubernetes API answers " + status + (message.isEmpty() ? " to " + verb + " " + resource : ": " + message)
            + remedy);
  }

  private static SSLContext tls(Path authorities) throws IOException {
    try (InputStream in = Files.newInputStream(authorities)) {
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
      throw new IOException(authorities + " has no certificates in PEM: " + wrong.getMessage(), wrong);
    }
  }

  @Override
  public void close() {
    calls.close();
  }
}
