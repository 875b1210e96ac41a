package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import io.kvasir.access.KeyDigest;
import io.kvasir.access.store.PrivateFile;
import io.kvasir.app.node.Node;
import io.kvasir.app.node.StartException;
import io.kvasir.load.Ports;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole nodes and their clients' keys: from a file, by the admin API and by the command line. */
final class KeysIT {
  private static final String BOSS = "kv-the-key-of-the-boss";

  private final List<Node> nodes = new ArrayList<>();
  @TempDir private Path directory = Path.of("");

  @AfterEach
  void stop() {
    nodes.forEach(Node::close);
  }

  @Test
  void change_onOneNode_holdsOnAll_andOnOneThatJoins() throws Exception {
    int seed = Ports.free();
    Node first = start(clustered(seed, seed));
    Node second = start(clustered(seed, Ports.free()));
    await("both to be ready", () -> ready(first) && ready(second) && members(first) == 2);
    assertThat(status(first, null)).isEqualTo(401);
    assertThat(status(second, BOSS)).isEqualTo(200);

    String app = secret(keys(first, "create", "app", "--tenant", "t", "--rpm", "1000"));
    assertThat(status(first, app)).isEqualTo(200);
    await("the other node to accept it", () -> status(second, app) == 200);
    assertThat(keys(second, "list").out()).contains("app", "boss", "configuration", "requests per minute 1000");

    assertThat(keys(second, "disable", "app").out()).contains("app: disabled");
    assertThat(keys(second, "disable", "boss").out()).contains("boss: disabled");
    assertThat(status(second, app)).isEqualTo(401);
    await("the other node to refuse both", () -> status(first, app) == 401 && status(first, BOSS) == 401);

    Node third = start(clustered(seed, Ports.free()));
    await("the third node to refuse them", () -> {
      int answer = status(third, app);
      int boss = status(third, BOSS);
      assertThat(List.of(answer, boss))
          .as("a node that joins never accepts what the others refuse")
          .isSubsetOf(503, 401);
      return answer == 401 && boss == 401;
    });

    assertThat(keys(third, "enable", "app").out()).contains("app: active");
    assertThat(keys(third, "enable", "boss").out()).contains("boss: active");
    await(
        "all to accept both",
        () -> accept(first, app, BOSS) && accept(second, app, BOSS) && accept(third, app, BOSS));

    String rotated = secret(keys(first, "rotate", "app", "--overlap", "1h"));
    await("all to accept both texts", () -> accept(second, app, rotated) && accept(third, app, rotated));
    String again = secret(keys(first, "rotate", "app"));
    await("the texts before to be refused", () -> status(second, rotated) == 401 && status(third, app) == 401);
    assertThat(accept(second, again)).isTrue();

    TestCommand inFile = keys(first, "delete", "boss");
    assertThat(inFile.err()).contains("kvasir.access.keys");
    assertThat(keys(first, "delete", "app").out()).contains("app: deleted");
    await("all to refuse it", () -> status(second, again) == 401 && status(third, again) == 401);
    assertThat(keys(third, "create", "app", "--tenant", "t").err()).contains("was deleted");
  }

  @Test
  void fileOfKeys_isReloaded_whileRequestsGoOn() throws Exception {
    Path file = directory.resolve("keys.conf");
    write(file, entry("steady"));
    Node node = start("kvasir.access { keys-file = \"%s\", reload-interval = 20 ms }".formatted(file));
    await("the node to be ready", () -> ready(node));
    AtomicBoolean done = new AtomicBoolean();
    Set<Integer> answers = ConcurrentHashMap.newKeySet();
    AtomicInteger sent = new AtomicInteger();
    CompletableFuture<Void> client = CompletableFuture.runAsync(() -> {
      while (!done.get()) {
        answers.add(unchecked(node, "secret-of-steady"));
        sent.incrementAndGet();
      }
    });
    for (int i = 0; i < 10; i++) {
      String id = "k" + i;
      write(file, entry("steady"), entry(id));
      await("a new key to be accepted", () -> status(node, "secret-of-" + id) == 200);
    }
    assertThat(status(node, "secret-of-k0")).as("a key that is not in the file any more").isEqualTo(401);

    write(file, entry("steady").replace("sha256", "sha-256"));
    await("the fault to show", () -> degraded(node).contains("the file of keys has"));
    assertThat(status(node, "secret-of-k9")).as("the last good version stays").isEqualTo(200);
    assertThat(TestNodes.manage(node, "/metrics").body()).contains("kvasir_keys_reloads_total{result=\"refused\"} ");
    write(file, entry("steady"));
    await("the fault to be mended", () -> !degraded(node).contains("the file of keys has"));
    assertThat(status(node, "secret-of-k9")).isEqualTo(401);

    // A disabled key stays refused, whatever the file says.
    assertThat(keys(node, "disable", "steady").status()).isZero();
    done.set(true);
    client.join();
    assertThat(status(node, "secret-of-steady")).isEqualTo(401);
    assertThat(sent.get()).isGreaterThan(10);
    write(file, entry("steady"), entry("other"));
    await("the file to be reloaded", () -> status(node, "secret-of-other") == 200);
    assertThat(status(node, "secret-of-steady")).isEqualTo(401);
    answers.remove(401);
    assertThat(answers).containsOnly(200);
  }

  @Test
  void changes_surviveARestart_whereThereIsAStore() throws Exception {
    Path store = directory.resolve("store.json");
    String settings = "kvasir.access { store = \"%s\" }".formatted(store);
    Node node = start(settings);
    assertThat(status(node, null)).as("a router with a store wants keys from the start").isEqualTo(401);
    TestCommand created = keys(node, "create", "app", "--tenant", "t");
    assertThat(created.err()).doesNotContain("memory only");
    String app = secret(created);
    assertThat(Files.readString(store)).contains(KeyDigest.of(app).hex()).doesNotContain(app);
    assertThat(degraded(node)).doesNotContain("memory only");
    node.close();
    Node restarted = start(settings);
    assertThat(status(restarted, app)).isEqualTo(200);
    restarted.close();
    nodes.clear();
    Files.writeString(store, "?");
    assertThatThrownBy(() -> start(settings)).isInstanceOf(StartException.class).hasMessageContaining("store.json");
  }

  @Test
  void routerWithoutKeys_isOpen_untilTheFirstKey_andSaysThatItForgetsIt() throws Exception {
    Node node = start("");
    assertThat(status(node, null)).isEqualTo(200);
    assertThat(status(node, "EMPTY")).isEqualTo(200);
    TestCommand created = keys(node, "create", "app", "--tenant", "t");
    assertThat(created.err()).contains("memory only");
    assertThat(degraded(node)).contains("memory only");
    assertThat(status(node, null)).isEqualTo(401);
    assertThat(status(node, secret(created))).isEqualTo(200);
    assertThat(keys(node, "delete", "app").status()).isZero();
    assertThat(status(node, null)).as("the last key's deletion does not open the door").isEqualTo(401);
  }

  @Test
  void nothingSecret_isShown() throws Exception {
    Node node = start(
        "kvasir.access.keys = [{ id = a, tenant = t, sha256 = %s }]".formatted(KeyDigest.of("secret-of-a").hex()));
    String app = secret(keys(node, "create", "app", "--tenant", "t"));
    assertThat(status(node, "secret-of-a")).isEqualTo(200);
    assertThat(status(node, "secret-of-nobody")).isEqualTo(401);
    for (String path : new String[] {"/admin/keys", "/admin/config", "/metrics", "/ready"}) {
      assertThat(TestNodes.manage(node, path).body()).as(path)
          .doesNotContain(app, KeyDigest.of(app).hex(), KeyDigest.of("secret-of-a").hex(), "secret-of");
    }
    assertThat(TestNodes.manage(node, "/metrics").body())
        .contains("kvasir_authentications_refused_total{reason=\"unknown\"} 1.0", "kvasir_keys{source=\"admin\"} 1.0");
    HttpResponse<String> faulty =
        TestNodes.manage(node, "POST", "/admin/keys", "{\"id\":\"b c\",\"tenant\":\"t\",\"sha256\":\"" + app + "\"}");
    assertThat(faulty.statusCode()).isEqualTo(400);
    assertThat(faulty.body()).contains("\"id\"", "sha256").doesNotContain(app);
  }

  @Test
  void tokenOfAnIdentityProvider_isAcceptedBesideKeys() throws Exception {
    ECKey signing = new ECKeyGenerator(Curve.P_256).keyID("one").generate();
    Path jwks = directory.resolve("jwks.json");
    Files.writeString(jwks, new JWKSet(signing.toPublicJWK()).toString());
    Node node = start("""
        kvasir.access {
          keys = [{ id = boss, tenant = t, sha256 = %s }]
          jwt { issuer = "https://login.example", audience = kvasir, jwks-file = "%s", roles = [{ name = user }] }
        }
        """.formatted(KeyDigest.of(BOSS).hex(), jwks));
    await("the token to be accepted", () -> status(node, token(signing, "user")) == 200);
    assertThat(status(node, token(signing, "nobody"))).isEqualTo(401);
    assertThat(status(node, token(new ECKeyGenerator(Curve.P_256).keyID("one").generate(), "user"))).isEqualTo(401);
    assertThat(status(node, BOSS)).isEqualTo(200);
    assertThat(TestNodes.manage(node, "/metrics").body())
        .contains("kvasir_authentications_refused_total{reason=\"invalid_token\"} 2.0");
  }

  private static String token(ECKey key, String role) throws Exception {
    JWTClaimsSet claims =
        new JWTClaimsSet.Builder()
            .issuer("https://login.example").audience("kvasir").subject("ann").claim("tenant", "t")
            .claim("roles", List.of(role)).expirationTime(Date.from(Instant.now().plusSeconds(600)))
            .build();
    SignedJWT jwt = new SignedJWT(new JWSHeader.Builder(JWSAlgorithm.ES256).keyID("one").build(), claims);
    jwt.sign(new ECDSASigner(key));
    return jwt.serialize();
  }

  private Node start(String settings) throws Exception {
    Node node = TestNodes.start(settings);
    nodes.add(node);
    return node;
  }

  private static String clustered(int seed, int port) {
    return """
        kvasir {
          cluster { host = "127.0.0.1", port = %d, seed-nodes = ["127.0.0.1:%d"] }
          access.keys = [{ id = boss, tenant = t, sha256 = %s }]
        }
        """.formatted(port, seed, KeyDigest.of(BOSS).hex());
  }

  private static String entry(String id) {
    return "{ id = %s, tenant = t, sha256 = %s }".formatted(id, KeyDigest.of("secret-of-" + id).hex());
  }

  private static void write(Path file, String... entries) throws Exception {
    String text = "keys = [\n" + String.join("\n", entries) + "\n]\n";
    PrivateFile.replace(file, text.getBytes(StandardCharsets.UTF_8));
  }

  private static boolean ready(Node node) {
    return node.readiness().obstacles().isEmpty();
  }

  private static long members(Node node) {
    return node.fleet().cluster().nodes().size();
  }

  private static String degraded(Node node) {
    return node.readiness().degradations().toString();
  }

  private static boolean accept(Node node, String... keys) throws Exception {
    for (String key : keys) {
      if (status(node, key) != 200) {
        return false;
      }
    }
    return true;
  }

  private static int unchecked(Node node, String key) {
    try {
      return status(node, key);
    } catch (Exception failed) {
      throw new IllegalStateException(failed);
    }
  }

  private static int status(Node node, @Nullable String key) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(TestNodes.gateway(node, "/v1/models"));
    if (key != null) {
      request.header("Authorization", "Bearer " + key);
    }
    return TestNodes.send(request).statusCode();
  }

  private static TestCommand keys(Node node, String... arguments) {
    return TestCommand.run(
        Stream.concat(
                Stream.concat(Stream.of("keys"), Arrays.stream(arguments)),
                Stream.of("--management", TestNodes.management(node, "").toString()))
            .toArray(String[]::new));
  }

  private static String secret(TestCommand done) {
    assertThat(done.status()).as(done.err()).isZero();
    return done.out().lines().filter(line -> line.startsWith("kv-")).findFirst().orElseThrow();
  }
}
