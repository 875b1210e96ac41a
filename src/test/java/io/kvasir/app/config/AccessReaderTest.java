package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.ConfigFactory;
import io.kvasir.access.ApiKey;
import io.kvasir.access.Grants;
import io.kvasir.access.Isolation;
import io.kvasir.access.KeyDigest;
import io.kvasir.access.Limits;
import io.kvasir.access.token.TokenSettings;
import io.kvasir.admission.ServiceClass;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class AccessReaderTest {
  private static final String DIGEST = KeyDigest.of("secret").hex();
  private static final Grants DEFAULT =
      new Grants(Set.of(), Set.of(), null, ServiceClass.INTERACTIVE, 1, Isolation.NONE, false, false);

  @TempDir private Path directory = Path.of("");

  @Test
  void withoutSettings_thereAreNoKeys() throws Exception {
    AccessConfig access = read("");
    assertThat(access.hasKeys()).isFalse();
    assertThat(access.open()).isFalse();
    assertThat(access.openRoutingDetails()).isFalse();
    assertThat(access.tokens()).isNull();
  }

  @Test
  void keyWithNothingElse_hasTheDefaults() throws Exception {
    AccessConfig access = read("keys = [{ id = a, sha256 = %s, tenant = t }]".formatted(DIGEST));
    assertThat(access.hasKeys()).isTrue();
    assertThat(access.keys().configured())
        .containsExactly(new ApiKey("a", KeyDigest.of("secret"), null, "t", null, false, DEFAULT, Limits.NONE));
  }

  @Test
  void isolatedKeys_needASecret() throws Exception {
    String isolated = "keys = [{ id = a, sha256 = %s, tenant = t, isolation = tenant }]\n".formatted(DIGEST);
    assertThat(faultyPaths("kvasir.access {" + isolated + "}")).containsExactly("kvasir.access.isolation-secret");
    assertThat(faultyPaths("kvasir.access {" + isolated + "isolation-secret = short\n}"))
        .containsExactly("kvasir.access.isolation-secret");
    Path file = Files.writeString(directory.resolve("secret"), "a long and random secret\n");
    String inFile = "isolation-secret-file = \"" + file;
    assertThat(faultyPaths("kvasir.access {" + isolated + inFile + "\" }")).isEmpty();
    assertThat(faultyPaths("kvasir.access {" + isolated + inFile + ".not\" }"))
        .contains("kvasir.access.isolation-secret-file");
    assertThat(read(isolated).salts()).isNotNull();
  }

  /** Also of callers that come later: keys of the admin API, and tokens. */
  @Test
  void isolatedTenantsAndRoles_needASecret() throws Exception {
    assertThat(faultyPaths("kvasir.access.tenants.t.isolation = tenant"))
        .containsExactly("kvasir.access.isolation-secret");
    Path jwks = Files.writeString(directory.resolve("jwks.json"), "{\"keys\":[]}");
    String roles = "roles = [{ name = a }, { name = b, isolation = key }]";
    String accepted = "issuer = i, audience = a, jwks-file = \"" + jwks + "\"";
    assertThat(faultyPaths("kvasir.access.jwt {" + accepted + "," + roles + "}"))
        .containsExactly("kvasir.access.isolation-secret");
    assertThat(faultyPaths("kvasir.access.jwt {" + roles + "}")).as("no token is accepted").isEmpty();
  }

  @Test
  void gatewayWithoutKeys_isForThisMachine() throws Exception {
    assertThat(KvasirConfig.of(ConfigFactory.empty()).gateway().http().host()).isEqualTo("127.0.0.1");
    assertThat(KvasirConfig.of(ConfigFactory.parseString("kvasir.access.open = true")).gateway().http().host())
        .isEqualTo("0.0.0.0");
    for (String host : List.of("0.0.0.0", "::", "10.0.0.5", "router.example", "0:0:0:0:0:0:0:0")) {
      String config = "kvasir.gateway.host = \"%s\"".formatted(host);
      assertThat(faultyPaths(config)).as(host).containsExactly("kvasir.gateway.host");
      assertThat(faultyPaths(config + "\nkvasir.access.open = true")).as(host).isEmpty();
    }
    for (String host : List.of("localhost", "127.0.0.1", "127.8.0.1", "::1", "[::1]")) {
      assertThat(faultyPaths("kvasir.gateway.host = \"%s\"".formatted(host))).as(host).isEmpty();
    }
  }

  @Test
  void clientsKeys_stayWithARouterThatHasKeys() throws Exception {
    String keys = "kvasir.access.keys = [{ id = a, sha256 = %s, tenant = t }]\n".formatted(DIGEST);
    assertThat(forwardsKeys("")).isTrue();
    assertThat(forwardsKeys(keys)).isFalse();
    assertThat(forwardsKeys(keys + "kvasir.gateway.forward-client-keys = on")).isTrue();
    assertThat(forwardsKeys("kvasir.gateway.forward-client-keys = off")).isFalse();
  }

  private static boolean forwardsKeys(String config) throws ConfigException {
    return KvasirConfig.of(ConfigFactory.parseString(config)).gateway().forwarding().clientKeys();
  }

  @Test
  void everySettingOfAKey_isRead() throws Exception {
    Path file = Files.writeString(directory.resolve("keys.conf"), """
        keys = [
          {
            id = "team-a.batch", sha256 = %s, tenant = team-a, not-after = 2027-01-31
            models = [ "llama-*", gpt-oss ], apis = [ chat, messages ], profile = cache-aware
            highest-class = bulk, weight = 3, isolation { group = friends }
            routing-details = true, request-templates = true, disabled = true
            previous { sha256 = %s, not-after = "2026-12-01T08:00:00Z" }
            limits {
              requests-per-minute = 60, tokens-per-minute = 10000000000, concurrent = 8
              budgets = [ { tokens = 1000000, window = 1 d } ]
            }
          }
        ]
        """.formatted(DIGEST, KeyDigest.of("old").hex()));
    AccessConfig access = read("keys-file = \"%s\"".formatted(file));
    assertThat(access.hasKeys()).isTrue();
    assertThat(access.reader().keys(KeyEntryReader.parse(file))).containsExactly(
        new ApiKey(
            "team-a.batch",
            KeyDigest.of("secret"),
            new ApiKey.PreviousDigest(KeyDigest.of("old"), Instant.parse("2026-12-01T08:00:00Z")),
            "team-a",
            Instant.parse("2027-01-31T23:59:59.999Z"),
            true,
            new Grants(
                Set.of("llama-*", "gpt-oss"), Set.of("chat", "messages"), "cache-aware", ServiceClass.BULK, 3,
                new Isolation.Group("friends"), true, true),
            new Limits(60, 10_000_000_000L, 8, List.of(new Limits.Budget(1_000_000, Duration.ofDays(1))))));
  }

  @Test
  void tenant_laysDownWhatItsKeysOmit() throws Exception {
    AccessConfig access = read("""
        key-defaults.routing-details = true
        tenants { "a.b" { isolation = tenant, weight = 5, limits.requests-per-minute = 100 } }
        keys = [
          { id = x, sha256 = %s, tenant = a.b }
          { id = y, sha256 = %s, tenant = a.b, isolation = none, weight = 2 }
          { id = z, sha256 = %s, tenant = other }
        ]
        """.formatted(KeyDigest.of("x").hex(), KeyDigest.of("y").hex(), KeyDigest.of("z").hex()));
    assertThat(access.tenantLimits()).isEqualTo(Map.of("a.b", new Limits(100, 0, 0, List.of())));
    assertThat(access.keys().configured()).extracting(key -> key.grants().isolation())
        .containsExactly(new Isolation.Tenant(), Isolation.NONE, Isolation.NONE);
    assertThat(access.keys().configured()).extracting(key -> key.grants().weight()).containsExactly(5, 2, 1);
    assertThat(access.keys().configured()).allMatch(key -> key.grants().routingDetails());
  }

  @Test
  void allFaults_areReportedTogether_withTheirLines() throws Exception {
    Path file = Files.writeString(directory.resolve("keys.conf"), """
        keys = [
          { id = a, sha256 = %s, tenant = t }
          { id = a, sha256 = %s, tenant = t }
          { id = "b c", sha256 = my-own-secret-key, tenant = "" }
          { id = d, tenant = t, key = my-own-secret-key, weight = 0, isolation = some, apis = [ chats ] }
          { id = e, sha256 = %s, tenant = t, not-after = tomorrow, limits.rpm = 5, models = [ "a*b" ] }
          7
        ]
        other = 1
        """.formatted(DIGEST, DIGEST, KeyDigest.of("e").hex()));
    ConfigException faulty = faults("keys-file = \"%s\"\nopen = maybe".formatted(file));
    List<String> places = faulty.faults().stream().map(fault -> fault.place().line() + " " + fault.path()).toList();
    assertThat(places).containsExactlyInAnyOrder(
        "3 keys[1].id", "3 keys[1].sha256", "4 keys[2].id", "4 keys[2].sha256", "4 keys[2].tenant",
        "5 keys[3].sha256", "5 keys[3].key", "5 keys[3].weight", "5 keys[3].isolation", "5 keys[3].apis",
        "6 keys[4].not-after", "6 keys[4].limits.rpm", "6 keys[4].models", "7 keys[5]", "9 other",
        "0 kvasir.access.open");
    assertThat(faulty.getMessage()).contains("keys.conf:4", "kvasir keys digest").doesNotContain("my-own-secret-key");
  }

  @Test
  void missingFileOfKeys_isAFault() {
    assertThat(faults("keys-file = nowhere.conf").faults())
        .singleElement()
        .satisfies(fault -> assertThat(fault.path()).isEqualTo("kvasir.access.keys-file"))
        .asString().contains("names nowhere.conf, which cannot be read", "kvasir keys create");
    assertThat(faults("store = /nowhere/at/all").faults()).anyMatch(fault -> fault.path().endsWith("access.store"));
  }

  @Test
  void keyInFileAndConfiguration_isAFault() throws Exception {
    Path file = Files.writeString(
        directory.resolve("keys.json"),
        "{\"keys\": [{\"id\": \"a\", \"sha256\": \"%s\", \"tenant\": \"t\"}]}".formatted(DIGEST));
    assertThat(faults("keys = [{ id = a, sha256 = %s, tenant = t }], keys-file = \"%s\"".formatted(DIGEST, file))
        .faults()).anyMatch(fault -> fault.problem().contains("'a'"));
  }

  @Test
  void adminEntries_areReadInEitherSpelling_andAgainOnOtherNodes() throws Exception {
    KeyEntryReader reader = read("tenants.t.isolation = key").reader();
    ObjectNode entry = (ObjectNode) new ObjectMapper().readTree("""
        {"id": "a", "tenant": "t", "sha256": "%s", "not_after": "2027-01-31T00:00:00Z",
         "limits": {"requests_per_minute": 5}, "isolation": {"group": "g_1"}}""".formatted(DIGEST));
    ApiKey key = reader.readStored(reader.readJson(entry));
    assertThat(key.limits().requestsPerMinute()).isEqualTo(5);
    assertThat(key.grants().isolation()).isEqualTo(new Isolation.Group("g_1"));
    assertThat(key.notAfter()).isEqualTo(Instant.parse("2027-01-31T00:00:00Z"));
    entry.remove("isolation");
    assertThat(reader.readStored(reader.readJson(entry)).grants().isolation()).isEqualTo(new Isolation.Key());
    entry.put("not_before", 5).withObject("/limits").put("concurrent", -1);
    ConfigException faulty =
        Objects.requireNonNull(catchThrowableOfType(ConfigException.class, () -> reader.readJson(entry)));
    assertThat(faulty.faults()).extracting(ConfigFault::path)
        .containsExactlyInAnyOrder("not_before", "limits.concurrent");
  }

  /** Without a secret the requests of such a key could not be answered. */
  @Test
  void isolatedKeysThatComeLater_areRefusedWithoutASecret() throws Exception {
    KeyEntryReader reader = KvasirConfig.of(ConfigFactory.empty()).gateway().access().reader();
    String entry = "{\"id\": \"a\", \"tenant\": \"t\", \"sha256\": \"%s\", \"isolation\": %%s}".formatted(DIGEST);
    for (String isolation : List.of("\"tenant\"", "\"key\"", "{\"group\": \"g\"}")) {
      ObjectNode isolated = (ObjectNode) new ObjectMapper().readTree(entry.formatted(isolation));
      assertThat(
          Objects.requireNonNull(catchThrowableOfType(ConfigException.class, () -> reader.readJson(isolated))).faults())
          .singleElement().satisfies(fault -> {
            assertThat(fault.path()).isEqualTo("isolation");
            assertThat(fault.problem()).contains("kvasir.access.isolation-secret", "openssl rand -hex 32");
          });
    }
    ObjectNode shared = (ObjectNode) new ObjectMapper().readTree(entry.formatted("\"none\""));
    assertThat(reader.readStored(reader.readJson(shared)).grants().isolation()).isEqualTo(Isolation.NONE);

    Path file = Files.writeString(
        directory.resolve("keys.conf"), "keys = [\n" + entry.formatted("\"tenant\"") + "\n]\n");
    assertThat(
        Objects.requireNonNull(
            catchThrowableOfType(ConfigException.class, () -> reader.keys(KeyEntryReader.parse(file)))).faults())
        .singleElement().satisfies(fault -> {
          assertThat(fault.place().line()).isEqualTo(2);
          assertThat(fault.path()).isEqualTo("keys[0].isolation");
        });
  }

  @Test
  void tokens_areReadWithTheirRoles() throws Exception {
    Path file = Files.writeString(directory.resolve("jwks.json"), "{\"keys\":[]}");
    TokenSettings tokens = read("""
        jwt {
          issuer = "https://login.example", audience = kvasir, jwks-file = "%s"
          roles = [ { name = admin, routing-details = true }, { name = user, limits.concurrent = 2 } ]
        }
        """.formatted(file)).tokens();
    assertThat(tokens).isEqualTo(
        new TokenSettings(
            "https://login.example",
            Set.of("kvasir"),
            new TokenSettings.KeySource.File(file, Duration.ofHours(1)),
            new TokenSettings.Claims("sub", "tenant", "roles"),
            Duration.ofSeconds(30),
            List.of(
                new TokenSettings.Role(
                    "admin",
                    new Grants(Set.of(), Set.of(), null, ServiceClass.INTERACTIVE, 1, Isolation.NONE, true, false),
                    Map.of(),
                    Limits.NONE),
                new TokenSettings.Role("user", DEFAULT, Map.of(), new Limits(0, 0, 2, List.of()))),
            Map.of()));
  }

  @Test
  void tenant_laysDownWhatRolesOmit() throws Exception {
    List<TokenSettings.Role> roles = roles("""
        { name = omits, routing-details = true }
        { name = lays-down, isolation = none, weight = 2 }
        """);
    assertThat(roles).extracting(role -> role.grants("a.b").isolation())
        .containsExactly(new Isolation.Tenant(), Isolation.NONE);
    assertThat(roles).extracting(role -> role.grants("a.b").weight()).containsExactly(5, 2);
    assertThat(roles).extracting(role -> role.grants("a.b").routingDetails()).containsExactly(true, false);
    assertThat(roles).extracting(role -> role.grants("other").isolation())
        .containsExactly(new Isolation.Key(), Isolation.NONE);
    assertThat(roles).extracting(role -> role.grants("other").weight()).containsExactly(3, 2);
    TokenSettings.Role everyTokens = roles("").getFirst();
    assertThat(everyTokens.grants("a.b").isolation()).isEqualTo(new Isolation.Tenant());
    assertThat(everyTokens.grants("a.b").weight()).isEqualTo(5);
    assertThat(everyTokens.grants("other").isolation()).isEqualTo(new Isolation.Key());
  }

  /** Those of a configuration whose tenant {@code a.b} lays down isolation and weight. */
  private List<TokenSettings.Role> roles(String written) throws Exception {
    Path jwks = Files.writeString(directory.resolve("jwks.json"), "{\"keys\":[]}");
    return Objects.requireNonNull(read("""
        key-defaults { isolation = key, weight = 3 }
        tenants."a.b" { isolation = tenant, weight = 5 }
        jwt { issuer = i, audience = a, jwks-file = "%s", roles = [ %s ] }
        """.formatted(jwks, written)).tokens()).roles();
  }

  @Test
  void tokensOfNobodyInParticular_areAFault() {
    assertThat(faults("jwt.jwks-url = \"http://login.example\"").faults()).extracting(ConfigFault::path)
        .containsExactlyInAnyOrder(
            "kvasir.access.jwt.issuer", "kvasir.access.jwt.audience", "kvasir.access.jwt.jwks-url");
    assertThat(faults("jwt { issuer = i, audience = a }").faults()).extracting(ConfigFault::path)
        .containsExactly("kvasir.access.jwt.jwks-url");
  }

  private static AccessConfig read(String access) throws ConfigException {
    String secret = "isolation-secret = \"a long and random secret\"\n";
    return KvasirConfig.of(ConfigFactory.parseString("kvasir.access {\n" + secret + access + "\n}")).gateway().access();
  }

  private static ConfigException faults(String access) {
    return Objects.requireNonNull(catchThrowableOfType(ConfigException.class, () -> read(access)));
  }

  private static List<String> faultyPaths(String config) {
    try {
      var _ = KvasirConfig.of(ConfigFactory.parseString(config));
      return List.of();
    } catch (ConfigException faulty) {
      return faulty.faults().stream().map(ConfigFault::path).toList();
    }
  }
}
