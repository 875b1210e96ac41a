package io.kvasir.access.token;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSSigner;
import com.nimbusds.jose.JWSSignerOption;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.crypto.opts.AllowWeakRSAKey;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.OctetSequenceKey;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpServer;
import io.kvasir.access.Authentication;
import io.kvasir.access.Authentication.Accepted;
import io.kvasir.access.Authentication.Reason;
import io.kvasir.access.Authentication.Refused;
import io.kvasir.access.Authentication.Unavailable;
import io.kvasir.access.Caller;
import io.kvasir.access.Grants;
import io.kvasir.access.Isolation;
import io.kvasir.access.KeyDigest;
import io.kvasir.access.Limits;
import io.kvasir.admission.ServiceClass;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class JwtVerifierTest {
  private static final Instant NOW = Instant.parse("2026-11-22T12:00:00Z");
  private static final String ISSUER = "https://login.example";
  private static final Limits TENANT_LIMITS = new Limits(100, 0, 0, List.of());
  private static final Grants ISOLATED =
      new Grants(
          Set.of(), Set.of(), null, ServiceClass.INTERACTIVE, 5, new Isolation.Tenant(), true, false);
  private static final Set<JWSSignerOption> WEAK_TOO = Set.of(AllowWeakRSAKey.getInstance());
  private static final RSAKey RSA = rsa("rsa", 2048);
  private static final RSAKey PSS = new RSAKey.Builder(RSA).keyID("pss").algorithm(JWSAlgorithm.PS256).build();
  private static final RSAKey WEAK = rsa("weak", 1024);
  private static final RSAKey STRANGER = rsa("rsa", 2048);
  private static final ECKey P256 = ec("p256", Curve.P_256);
  private static final ECKey P521 = ec("p521", Curve.P_521);

  private final AtomicReference<Instant> now = new AtomicReference<>(NOW);
  private final List<AutoCloseable> opened = new ArrayList<>();
  @TempDir private Path directory = Path.of("");

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened) {
      each.close();
    }
  }

  @Test
  void tokenOfTheIssuer_isItsCaller() throws Exception {
    JwtVerifier verifier = verifier();
    for (String token :
        List.of(
            signed(RSA, JWSAlgorithm.RS256), signed(RSA, JWSAlgorithm.RS512), signed(RSA, JWSAlgorithm.PS384),
            signed(PSS, JWSAlgorithm.PS256), signed(P256, JWSAlgorithm.ES256), signed(P521, JWSAlgorithm.ES512))) {
      Accepted expected =
          new Accepted(new Caller("token:ann@example", "team", Grants.ALL, Limits.NONE, TENANT_LIMITS));
      assertThat(verify(verifier, token)).isEqualTo(expected);
      assertThat(verify(verifier, token)).as("remembered").isEqualTo(expected);
    }
  }

  @Test
  void roles_decideInTheOrderOfTheSettings() throws Exception {
    JwtVerifier verifier = verifier();
    Limits few = new Limits(5, 0, 0, List.of());
    assertThat(limits(verifier, claims -> claims.claim("roles", List.of("user", "admin")))).isEqualTo(Limits.NONE);
    assertThat(limits(verifier, claims -> claims.claim("roles", List.of("other", "user")))).isEqualTo(few);
    assertThat(limits(verifier, claims -> claims.claim("roles", "openid user"))).isEqualTo(few);
    refused(verifier, signed(claims -> claims.claim("roles", List.of("users"))), Reason.INVALID_TOKEN, "'roles'");
    refused(verifier, signed(claims -> claims.claim("roles", null)), Reason.INVALID_TOKEN, "'roles'");
    refused(verifier, signed(claims -> claims.claim("roles", 7)), Reason.INVALID_TOKEN, "'roles'");
  }

  @Test
  void tenant_hasItsPartInWhatARoleGrants() throws Exception {
    Authentication answer = verify(verifier(), signed(claims -> claims.claim("tenant", "isolated")));
    assertThat(answer)
        .isEqualTo(new Accepted(new Caller("token:ann@example", "isolated", ISOLATED, Limits.NONE, Limits.NONE)));
  }

  @Test
  void claimsThatDoNotFit_areRefused() throws Exception {
    JwtVerifier verifier = verifier();
    refused(verifier, signed(claims -> claims.issuer("https://login.example.evil")), Reason.INVALID_TOKEN, "issuer");
    refused(verifier, signed(claims -> claims.issuer(null)), Reason.INVALID_TOKEN, "issuer");
    refused(verifier, signed(claims -> claims.audience("another")), Reason.INVALID_TOKEN, "audience");
    refused(verifier, signed(claims -> claims.audience((String) null)), Reason.INVALID_TOKEN, "audience");
    refused(verifier, signed(claims -> claims.expirationTime(null)), Reason.INVALID_TOKEN, "expires");
    refused(verifier, signed(claims -> claims.expirationTime(at(-31))), Reason.EXPIRED, "expired");
    refused(verifier, signed(claims -> claims.notBeforeTime(at(31))), Reason.INVALID_TOKEN, "not valid yet");
    refused(verifier, signed(claims -> claims.claim("tenant", null)), Reason.INVALID_TOKEN, "'tenant'");
    refused(verifier, signed(claims -> claims.claim("tenant", "a\nb")), Reason.INVALID_TOKEN, "'tenant'");
    refused(verifier, signed(claims -> claims.claim("tenant", List.of("a"))), Reason.INVALID_TOKEN, "'tenant'");
    refused(verifier, signed(claims -> claims.subject("")), Reason.INVALID_TOKEN, "'sub'");
    refused(verifier, signed(claims -> claims.subject("x".repeat(257))), Reason.INVALID_TOKEN, "'sub'");
    assertThat(verify(verifier, signed(claims -> claims.audience(List.of("another", "kvasir")))))
        .isInstanceOf(Accepted.class);
    assertThat(verify(verifier, signed(claims -> claims.expirationTime(at(-29)).notBeforeTime(at(29)))))
        .as("clocks may differ by 30 s").isInstanceOf(Accepted.class);
  }

  @Test
  void signaturesOfOthers_areRefused() throws Exception {
    JwtVerifier verifier = verifier();
    refused(verifier, signed(STRANGER, JWSAlgorithm.RS256), Reason.INVALID_TOKEN, "wrong signature");
    refused(verifier, withKeyInItsHeader(), Reason.INVALID_TOKEN, "wrong signature");
    refused(verifier, header("{\"alg\":\"none\"}") + "." + payload() + ".", Reason.INVALID_TOKEN, "not signed");
    refused(verifier, header("{\"alg\":\"None\",\"kid\":\"rsa\"}") + "." + payload() + ".AAAA", null, "");
    String zeros = "." + payload() + "." + "A".repeat(86);
    refused(verifier, header("{\"alg\":\"ES256\",\"kid\":\"rsa\"}") + zeros, null, "");
    refused(verifier, header("{\"alg\":\"RS256\",\"kid\":\"p256\"}") + zeros, null, "");
    // Zeros are a signature for whoever does not check (r, s) of an EC signature.
    refused(verifier, header("{\"alg\":\"ES256\",\"kid\":\"p256\"}") + zeros, null, "");
    refused(verifier, signed(PSS, JWSAlgorithm.RS256), Reason.INVALID_TOKEN, "its key is for");
    refused(verifier, signed(WEAK, JWSAlgorithm.RS256), Reason.INVALID_TOKEN, "does not publish");
    String good = signed(RSA, JWSAlgorithm.RS256);
    int payload = good.indexOf('.') + 1;
    String other = signed(claims -> claims.subject("boss"));
    refused(
        verifier,
        good.substring(0, payload) + other.substring(payload, other.lastIndexOf('.')) + good.substring(
            good.lastIndexOf('.')),
        Reason.INVALID_TOKEN, "wrong signature");
  }

  /** The public key is public: as the secret of an HMAC it proves nothing. */
  @Test
  void publicKeyAsASharedSecret_isRefused() throws Exception {
    JwtVerifier verifier = verifier();
    String pem =
        "-----BEGIN PUBLIC KEY-----\n"
            + Base64.getMimeEncoder().encodeToString(RSA.toPublicKey().getEncoded()) + "\n-----END PUBLIC KEY-----\n";
    for (byte[] secret :
        List.of(
            pem.getBytes(StandardCharsets.UTF_8),
            RSA.toPublicKey().getEncoded(),
            RSA.toPublicJWK().toJSONString().getBytes(StandardCharsets.UTF_8))) {
      SignedJWT jwt =
          new SignedJWT(new JWSHeader.Builder(JWSAlgorithm.HS256).keyID("rsa").build(), claims().build());
      jwt.sign(new MACSigner(secret));
      refused(verifier, jwt.serialize(), Reason.INVALID_TOKEN, "another kind");
    }
    SignedJWT published =
        new SignedJWT(new JWSHeader.Builder(JWSAlgorithm.HS256).keyID("oct").build(), claims().build());
    published.sign(new MACSigner("0123456789abcdef0123456789abcdef"));
    refused(verifier, published.serialize(), Reason.INVALID_TOKEN, "another kind");
  }

  @Test
  void whatIsNoToken_isAnUnknownKey() throws Exception {
    JwtVerifier verifier = verifier();
    for (String text : List.of("kv-abc", "a.b", "a.b.c.d", "a.b.c.d.e", "x".repeat(20_000), ".".repeat(3_000))) {
      refused(verifier, text, Reason.UNKNOWN, "neither");
    }
    for (String text : List.of("a.b.c", "..", "eyJ.eyJ.", header("{}") + ".e30.AA", header("[".repeat(9_000)) + "..")) {
      refused(verifier, text, Reason.INVALID_TOKEN, "malformed");
    }
  }

  @Test
  void criticalHeaderThatIsNotUnderstood_isRefused() throws Exception {
    SignedJWT jwt =
        new SignedJWT(
            new JWSHeader.Builder(JWSAlgorithm.RS256).keyID("rsa").criticalParams(Set.of("x")).customParam("x", 1)
                .build(),
            claims().build());
    jwt.sign(new RSASSASigner(RSA));
    refused(verifier(), jwt.serialize(), Reason.INVALID_TOKEN, "");
  }

  @Test
  void changedTokens_areNeverAccepted() throws Exception {
    JwtVerifier verifier = verifier();
    String good = signed(P256, JWSAlgorithm.ES256);
    Random random = new Random(14);
    String alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=\u00e4 \"{";
    for (int i = 0; i < 3_000; i++) {
      StringBuilder changed = new StringBuilder(good);
      for (int n = random.nextInt(1, 4); n > 0; n--) {
        changed.setCharAt(random.nextInt(changed.length() - 1), alphabet.charAt(random.nextInt(alphabet.length())));
      }
      // The last characters of a part may have bits that stand for nothing.
      if (!canonical(changed.toString()).equals(canonical(good))) {
        assertThat(verify(verifier, changed.toString())).as(changed.toString()).isNotInstanceOf(Accepted.class);
      }
    }
  }

  @Test
  void rememberedToken_expires() throws Exception {
    JwtVerifier verifier = verifier();
    String token = signed(RSA, JWSAlgorithm.RS256);
    assertThat(verify(verifier, token)).isInstanceOf(Accepted.class);
    now.set(NOW.plusSeconds(331));
    refused(verifier, token, Reason.EXPIRED, "expired");
  }

  @Test
  void keysOfTheIssuer_changeWhileTokensCome() throws Exception {
    AtomicReference<String> published = new AtomicReference<>(set(RSA));
    AtomicInteger fetches = new AtomicInteger();
    JwtVerifier verifier = verifier(served(published, fetches), Duration.ZERO);
    String before = signed(RSA, JWSAlgorithm.RS256);
    String after = signed(P256, JWSAlgorithm.ES256);
    await("the keys to be read", () -> verify(verifier, before) instanceof Accepted);
    published.set(set(P256));
    await("the new key to be read", () -> verify(verifier, after) instanceof Accepted);
    assertThat(verify(verifier, before)).as("a token of a key that was withdrawn").isNotInstanceOf(Accepted.class);
    assertThat(verifier.problem()).isEmpty();
    published.set("{\"keys\": []}");
    await("the fault to show", () -> {
      verify(verifier, before);
      return verifier.problem().isPresent();
    });
    assertThat(verify(verifier, after)).as("the last good keys stay").isInstanceOf(Accepted.class);
  }

  @Test
  void unknownKeys_doNotFloodTheIssuer() throws Exception {
    AtomicInteger fetches = new AtomicInteger();
    JwtVerifier verifier = verifier(served(new AtomicReference<>(set(RSA)), fetches), Duration.ofHours(1));
    await("the keys to be read", () -> verify(verifier, signed(RSA, JWSAlgorithm.RS256)) instanceof Accepted);
    String unknown = signed(P256, JWSAlgorithm.ES256);
    for (int i = 0; i < 200; i++) {
      refused(verifier, unknown, Reason.INVALID_TOKEN, "does not publish");
    }
    assertThat(fetches).hasValue(1);
  }

  @Test
  void issuerThatCannotBeReached_isReported() throws Exception {
    TokenSettings.KeySource nowhere =
        new TokenSettings.KeySource.Url(URI.create("http://127.0.0.1:1/jwks"), Duration.ofHours(1));
    JwtVerifier verifier = verifier(nowhere, Duration.ZERO);
    assertThat(verify(verifier, signed(RSA, JWSAlgorithm.RS256))).isInstanceOf(Unavailable.class);
    await("the failure", () -> verifier.problem().isPresent());
    assertThat(verify(verifier, signed(RSA, JWSAlgorithm.RS256))).isInstanceOf(Unavailable.class);
  }

  @Test
  void rememberedTokens_areBounded() {
    VerifiedTokens tokens = new VerifiedTokens(100);
    VerifiedTokens.Verified one =
        new VerifiedTokens.Verified(new Accepted(Caller.anonymous(false)), NOW.toEpochMilli());
    KeyDigest used = KeyDigest.of("used");
    tokens.put(used, one);
    for (int i = 0; i < 10_000; i++) {
      tokens.put(KeyDigest.of("token" + i), one);
      assertThat(tokens.find(used)).as("a token in use, after " + i + " others").isNotNull();
      assertThat(tokens.size()).isLessThanOrEqualTo(101);
    }
    assertThat(tokens.find(KeyDigest.of("token0"))).isNull();
  }

  private JwtVerifier verifier() throws Exception {
    Path file = directory.resolve("jwks.json");
    OctetSequenceKey secret =
        new OctetSequenceKey.Builder("0123456789abcdef0123456789abcdef".getBytes(StandardCharsets.UTF_8))
            .keyID("oct").build();
    JWKSet all = new JWKSet(List.of(RSA.toPublicJWK(), PSS.toPublicJWK(), WEAK.toPublicJWK(), P256.toPublicJWK(),
        P521.toPublicJWK(), secret));
    Files.writeString(file, all.toString(false));
    JwtVerifier verifier =
        verifier(new TokenSettings.KeySource.File(file, Duration.ofHours(1)), Duration.ofHours(1));
    await("the keys to be read",
        () -> verify(verifier, signed(claims -> claims.subject("first"))) instanceof Accepted);
    return verifier;
  }

  private JwtVerifier verifier(TokenSettings.KeySource keys, Duration minRefreshInterval) {
    TokenSettings settings =
        new TokenSettings(
            ISSUER,
            Set.of("kvasir"),
            keys,
            new TokenSettings.Claims("sub", "tenant", "roles"),
            Duration.ofSeconds(30),
            List.of(
                new TokenSettings.Role("admin", Grants.ALL, Map.of("isolated", ISOLATED), Limits.NONE),
                new TokenSettings.Role("user", Grants.ALL, Map.of(), new Limits(5, 0, 0, List.of()))),
            Map.of("team", TENANT_LIMITS));
    JwtVerifier verifier =
        new JwtVerifier(settings, now::get, minRefreshInterval, new Metrics(new PrometheusRegistry()));
    opened.add(verifier);
    return verifier;
  }

  private TokenSettings.KeySource served(AtomicReference<String> published, AtomicInteger fetches)
      throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/jwks", exchange -> {
      fetches.incrementAndGet();
      byte[] body = Objects.requireNonNull(published.get()).getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
    opened.add(() -> server.stop(0));
    return new TokenSettings.KeySource.Url(
        URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/jwks"), Duration.ofHours(1));
  }

  private static Authentication verify(JwtVerifier verifier, String token) {
    return verifier.verify(token, KeyDigest.of(token));
  }

  private static Limits limits(JwtVerifier verifier, Consumer<JWTClaimsSet.Builder> change) throws Exception {
    return ((Accepted) verify(verifier, signed(change))).caller().limits();
  }

  private static void refused(JwtVerifier verifier, String token, @Nullable Reason reason, String words) {
    Authentication answer = verify(verifier, token);
    assertThat(answer).as(token).isInstanceOf(Refused.class);
    assertThat(((Refused) answer).message()).contains(words).doesNotContain("eyJ");
    if (reason != null) {
      assertThat(((Refused) answer).reason()).isEqualTo(reason);
    }
  }

  private static JWTClaimsSet.Builder claims() {
    return new JWTClaimsSet.Builder()
        .issuer(ISSUER)
        .audience("kvasir")
        .subject("ann@example")
        .claim("tenant", "team")
        .claim("roles", List.of("admin"))
        .expirationTime(at(300));
  }

  private static String signed(JWK key, JWSAlgorithm algorithm) throws JOSEException {
    return signed(key, algorithm, claims().build());
  }

  private static String signed(Consumer<JWTClaimsSet.Builder> change) throws JOSEException {
    JWTClaimsSet.Builder claims = claims();
    change.accept(claims);
    return signed(RSA, JWSAlgorithm.RS256, claims.build());
  }

  private static String signed(JWK key, JWSAlgorithm algorithm, JWTClaimsSet claims) throws JOSEException {
    SignedJWT jwt = new SignedJWT(new JWSHeader.Builder(algorithm).keyID(key.getKeyID()).build(), claims);
    JWSSigner signer =
        key instanceof RSAKey rsa ? new RSASSASigner(rsa.toPrivateKey(), WEAK_TOO) : new ECDSASigner((ECKey) key);
    jwt.sign(signer);
    return jwt.serialize();
  }

  /** An attacker's key, which a careless verifier would take from the token itself. */
  private static String withKeyInItsHeader() throws JOSEException {
    SignedJWT jwt =
        new SignedJWT(
            new JWSHeader.Builder(JWSAlgorithm.RS256).keyID("rsa").jwk(STRANGER.toPublicJWK()).build(),
            claims().build());
    jwt.sign(new RSASSASigner(STRANGER));
    return jwt.serialize();
  }

  private static String set(JWK key) {
    return new JWKSet(key.toPublicJWK()).toString(true);
  }

  private static String header(String json) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(json.getBytes(StandardCharsets.UTF_8));
  }

  private static String payload() {
    return header(claims().build().toString());
  }

  private static List<String> canonical(String token) {
    List<String> parts = new ArrayList<>();
    for (String part : token.split("\\.", -1)) {
      try {
        parts.add(Base64.getEncoder().encodeToString(Base64.getUrlDecoder().decode(part)));
      } catch (IllegalArgumentException malformed) {
        parts.add(part);
      }
    }
    return parts;
  }

  private static Date at(int seconds) {
    return Date.from(NOW.plusSeconds(seconds));
  }

  private static RSAKey rsa(String id, int bits) {
    try {
      return new RSAKeyGenerator(bits, true).keyID(id).generate();
    } catch (JOSEException impossible) {
      throw new AssertionError(impossible);
    }
  }

  private static ECKey ec(String id, Curve curve) {
    try {
      return new ECKeyGenerator(curve).keyID(id).generate();
    } catch (JOSEException impossible) {
      throw new AssertionError(impossible);
    }
  }
}
