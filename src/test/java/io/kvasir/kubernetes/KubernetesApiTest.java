package io.kvasir.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.Certificates;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The client of the Kubernetes API over HTTPS, trusted by the authority's file only. */
final class KubernetesApiTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final ApiResource THINGS = new ApiResource("test", "v1", "things");
  private static final ObjectKey KEY = new ObjectKey("n", "a");
  @TempDir private static Path directory = Path.of("");
  private static FakeKubernetes kubernetes;
  private static KubernetesApi api;

  @BeforeAll
  static void open() throws Exception {
    Certificates made = new Certificates(directory).authority("ca").server("api", "ca");
    Path token = Files.writeString(directory.resolve("token"), "secret\n");
    kubernetes = new FakeKubernetes(made);
    kubernetes.install(
        Definition.of(
            THINGS,
            "{status: {type: object, x-kubernetes-preserve-unknown-fields: true,"
                + " properties: {odd: {type: boolean, enum: [false]}}}}"));
    kubernetes.put(THINGS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"},\"spec\":{\"x\":1}}");
    api = new KubernetesApi(new KubernetesConnection(kubernetes.url(), token, Path.of(made.certificate("ca"))));
  }

  @AfterAll
  static void close() {
    api.close();
    kubernetes.close();
  }

  @Test
  void status_isChangedApartFromTheSpecification_andNotOverALaterChange() throws Exception {
    JsonNode object = api.get(THINGS, KEY).orElseThrow();
    String version = object.at("/metadata/resourceVersion").asText();
    String patch =
        "{\"metadata\":{\"resourceVersion\":\"%s\"},\"spec\":{\"x\":2},\"status\":{\"y\":1}}".formatted(version);
    JsonNode changed = api.patchStatus(THINGS, KEY, JSON.readTree(patch));
    assertThat(changed.at("/status/y").asInt()).isEqualTo(1);
    assertThat(changed.at("/spec/x").asInt()).isEqualTo(1);
    assertThat(changed.at("/metadata/generation").asInt()).isEqualTo(1);
    assertThatThrownBy(() -> api.patchStatus(THINGS, KEY, JSON.readTree(patch)))
        .asInstanceOf(type(KubernetesApiException.class))
        .satisfies(conflict -> assertThat(conflict.isConflict()).isTrue())
        .extracting(Throwable::getMessage).asString().contains("409", "the object has been modified");
  }

  @Test
  void invalidObject_isRefused() {
    assertThatThrownBy(() -> api.patchStatus(THINGS, KEY, JSON.readTree("{\"status\":{\"odd\":true}}")))
        .asInstanceOf(type(KubernetesApiException.class))
        .satisfies(refusal -> assertThat(refusal.isRefusal()).isTrue());
  }

  @Test
  void objectThatIsNotThere_isEmpty() throws Exception {
    assertThat(api.get(THINGS, new ObjectKey("n", "none"))).isEmpty();
  }

  @Test
  void nameOfAnEvent_isGivenByTheServer() throws Exception {
    JsonNode event = JSON.readTree("{\"metadata\":{\"generateName\":\"kvasir-\"},\"reason\":\"Test\"}");
    JsonNode created = api.create(ApiResource.EVENTS, "n", event);
    assertThat(created.at("/metadata/name").asText()).startsWith("kvasir-").hasSizeGreaterThan(7);
    assertThat(kubernetes.all(ApiResource.EVENTS)).hasSize(1);
  }

  @Test
  void review_isAnswered_andBelongsToNoNamespace() throws Exception {
    ApiResource reviews = new ApiResource("authentication.k8s.io", "v1", "tokenreviews");
    JsonNode known = api.create(reviews, "", JSON.readTree("{\"spec\":{\"token\":\"secret\"}}"));
    assertThat(known.at("/status/user/username").asText()).isEqualTo("system:serviceaccount:kvasir:kvasir");
    JsonNode unknown = api.create(reviews, "", JSON.readTree("{\"spec\":{\"token\":\"x\"}}"));
    assertThat(unknown.at("/status/authenticated").asBoolean(true)).isFalse();
  }

  @Test
  void foreignAuthority_isNotTrusted() throws Exception {
    TrustManagerFactory publicly = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    publicly.init((KeyStore) null);
    byte[] other = ((X509TrustManager) publicly.getTrustManagers()[0]).getAcceptedIssuers()[0].getEncoded();
    String pem = Base64.getMimeEncoder().encodeToString(other);
    Path authority =
        Files.writeString(
            directory.resolve("other"), "-----BEGIN CERTIFICATE-----\n" + pem + "\n-----END CERTIFICATE-----\n");
    KubernetesConnection connection =
        new KubernetesConnection(kubernetes.url(), directory.resolve("token"), authority);
    try (KubernetesApi stranger = new KubernetesApi(connection)) {
      assertThatThrownBy(() -> stranger.get(THINGS, KEY)).hasMessageContaining("PKIX");
    }
  }

  @Test
  void authorityThatIsNoCertificate_isNamed() throws Exception {
    Path odd = Files.writeString(directory.resolve("odd"), "-----BEGIN CERTIFICATE-----\nx\n");
    assertThatThrownBy(() -> new KubernetesApi(new KubernetesConnection(kubernetes.url(), odd, odd)))
        .hasMessageContaining("has no certificates in PEM");
  }
}
