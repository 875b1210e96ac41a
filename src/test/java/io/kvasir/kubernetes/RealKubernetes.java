package io.kvasir.kubernetes;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.kvasir.load.Ports;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * The real API server of Kubernetes, with access by roles, before an etcd of its own: both are processes. Nothing else
 * of a cluster is there, so pods run nowhere, and what a kubelet would write is written by the test. {@code
 * src/test/kubernetes/build} makes the programs.
 */
public final class RealKubernetes implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());
  private static final String ADMIN = "administrator";
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final Path programs;
  private final Path directory;
  private final int port = Ports.free();
  private final int store = Ports.free();
  private final Process etcd;
  private final HttpClient plain = HttpClient.newHttpClient();
  private Process server;
  private HttpClient http;

  /** The directory of the programs by the property {@code kvasir.kubernetes}, null where there are none. */
  public static @Nullable Path programs() {
    String named = System.getProperty("kvasir.kubernetes", "");
    return named.isEmpty() ? null : Path.of(named);
  }

  /** Starts a server with an empty store. */
  public RealKubernetes(Path programs, Path directory) throws Exception {
    this.programs = programs;
    this.directory = directory;
    Files.writeString(directory.resolve("tokens"), ADMIN + ",admin,1,system:masters\n");
    byte[] key = KeyPairGenerator.getInstance("RSA").generateKeyPair().getPrivate().getEncoded();
    Files.writeString(
        directory.resolve("key"),
        "-----BEGIN PRIVATE KEY-----\n" + Base64.getMimeEncoder().encodeToString(key)
            + "\n-----END PRIVATE KEY-----\n");
    etcd =
        run("etcd", List.of(
            "--data-dir", directory.resolve("store").toString(),
            "--listen-client-urls", storeUrl(), "--advertise-client-urls", storeUrl(),
            "--listen-peer-urls", "http://127.0.0.1:" + Ports.free()));
    server = server();
    http = client();
    awaitReady();
  }

  private String storeUrl() {
    return "http://127.0.0.1:" + store;
  }

  private Process run(String program, List<String> arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(programs.resolve(program).toString()));
    command.addAll(arguments);
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(directory.resolve(program + ".log").toFile()))
        .start();
  }

  private Process server() throws IOException {
    String key = directory.resolve("key").toString();
    return run("kube-apiserver", List.of(
        "--etcd-servers=" + storeUrl(), "--authorization-mode=RBAC",
        "--token-auth-file=" + directory.resolve("tokens"),
        "--service-account-issuer=https://kubernetes.test", "--service-account-key-file=" + key,
        "--service-account-signing-key-file=" + key, "--service-cluster-ip-range=10.0.0.0/24",
        "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + port,
        "--cert-dir=" + directory.resolve("certificates")));
  }

  private HttpClient client() throws Exception {
    await("the server's certificate", () -> Files.exists(authority()) && Files.size(authority()) > 0);
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    byte[] pem = Files.readAllBytes(authority());
    for (var certificate
        : CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem))) {
      trusted.setCertificateEntry("c" + trusted.size(), certificate);
    }
    TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(trusted);
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, managers.getTrustManagers(), null);
    return HttpClient.newBuilder().sslContext(tls).version(HttpClient.Version.HTTP_1_1).build();
  }

  private void awaitReady() {
    await("the API server", () -> {
      try {
        return send("GET", "/readyz", "", "").statusCode() == 200;
      } catch (IOException starting) {
        return false;
      }
    });
  }

  /** Its address. */
  public URI url() {
    return URI.create("https://127.0.0.1:" + port);
  }

  /** The file with its authority's certificates. */
  public Path authority() {
    return directory.resolve("certificates/apiserver.crt");
  }

  /** A connection to it by a token file. */
  public KubernetesConnection connection(Path token) {
    return new KubernetesConnection(url(), token, authority());
  }

  /** Applies manifests in YAML, as {@code kubectl apply --server-side --validate=strict} does; returns the last. */
  public JsonNode apply(String manifests) throws Exception {
    JsonNode last = JSON.missingNode();
    try (MappingIterator<JsonNode> documents = YAML.readerFor(JsonNode.class).readValues(manifests)) {
      while (documents.hasNext()) {
        JsonNode object = documents.next();
        if (object.isObject()) {
          last = apply(object);
        }
      }
    }
    return last;
  }

  private JsonNode apply(JsonNode object) throws Exception {
    String path =
        resource(object.path("apiVersion").asText(), object.path("kind").asText(),
            object.at("/metadata/namespace").asText("")) + "/" + object.at("/metadata/name").asText();
    return changed(
        "PATCH", path + "?fieldManager=test&force=true&fieldValidation=Strict", "application/apply-patch+yaml",
        object.toString());
  }

  /** Writes the status of an object, as a controller or a kubelet does. */
  public void status(String resource, String namespace, String name, String status) throws Exception {
    changed(
        "PATCH", "/api/v1/namespaces/" + namespace + "/" + resource + "/" + name + "/status",
        "application/merge-patch+json", "{\"status\": " + status + "}");
  }

  /** Deletes an object at once, by its path. */
  public void delete(String path) throws Exception {
    changed("DELETE", path + "?gracePeriodSeconds=0", "", "");
  }

  /** What is at a path. */
  public JsonNode get(String path) throws Exception {
    return JSON.readTree(send("GET", path, "", "").body());
  }

  /** A token of a service account. */
  public String token(String namespace, String account) throws Exception {
    return changed(
            "POST", "/api/v1/namespaces/" + namespace + "/serviceaccounts/" + account + "/token", "application/json",
            "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":{}}")
        .at("/status/token").asText();
  }

  /** Kills the server; its store stays. */
  public void stop() throws InterruptedException {
    server.destroyForcibly().waitFor();
  }

  /** Starts it again. */
  public void restart() throws Exception {
    server = server();
    http = client();
    awaitReady();
  }

  /** Makes all versions so far too old. */
  public void forgetChanges() throws Exception {
    JsonNode status = etcd("/v3/maintenance/status", "{}");
    etcd("/v3/kv/compaction", "{\"revision\": \"%s\", \"physical\": true}"
        .formatted(status.at("/header/revision").asText()));
  }

  private JsonNode etcd(String path, String body) throws Exception {
    HttpResponse<String> answer =
        plain.send(
            HttpRequest.newBuilder(URI.create(storeUrl() + path)).POST(BodyPublishers.ofString(body)).build(),
            BodyHandlers.ofString());
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return JSON.readTree(answer.body());
  }

  private String resource(String version, String kind, String namespace) throws Exception {
    String base = (version.contains("/") ? "/apis/" : "/api/") + version;
    // A definition is served some time after it has been accepted.
    List<String> plural = new ArrayList<>();
    await(version + " " + kind, () -> {
      for (JsonNode each : get(base).path("resources")) {
        if (each.path("kind").asText().equals(kind) && !each.path("name").asText().contains("/")) {
          plural.add(each.path("name").asText());
        }
      }
      return !plural.isEmpty();
    });
    return base + (namespace.isEmpty() ? "" : "/namespaces/" + namespace) + "/" + plural.getFirst();
  }

  private JsonNode changed(String method, String path, String type, String body) throws Exception {
    HttpResponse<String> answer = send(method, path, type, body);
    assertThat(answer.statusCode()).as("%s %s: %s", method, path, answer.body()).isBetween(200, 201);
    return JSON.readTree(answer.body());
  }

  private HttpResponse<String> send(String method, String path, String type, String body)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(url().resolve(path))
            .timeout(PATIENCE)
            .header("Authorization", "Bearer " + ADMIN)
            .method(method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    if (!type.isEmpty()) {
      request.header("Content-Type", type);
    }
    return http.send(request.build(), BodyHandlers.ofString());
  }

  @Override
  public void close() {
    server.destroyForcibly();
    etcd.destroyForcibly();
    await("the end of both", () -> !server.isAlive() && !etcd.isAlive());
  }
}
