package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.access.ApiKey;
import io.kvasir.access.CacheSalts;
import io.kvasir.access.Grants;
import io.kvasir.access.Isolation;
import io.kvasir.access.Limits;
import io.kvasir.access.token.TokenSettings;
import io.kvasir.app.config.AccessConfig.KeySources;
import io.kvasir.limits.LimitSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.access}: keys, tenants, and which tokens are accepted. */
final class AccessReader {
  private static final String DEFAULTS = "key-defaults";
  private static final String SECRET = "isolation-secret";
  private static final int SHORTEST_SECRET = 16;
  private static final Set<String> LOCAL_HOSTS = Set.of("localhost", "127.0.0.1", "[::1]");

  private final ConfigSection access;
  private final Config keyDefaults;

  AccessReader(ConfigSection access) {
    this.access = access;
    this.keyDefaults = access.subtree(DEFAULTS);
  }

  /**
   * Reads the section; a fault of a key's file is reported with its line there.
   *
   * @param limits how limits are kept, which has a section of its own
   */
  AccessConfig read(LimitSettings limits) {
    Map<String, Limits> tenantLimits = new HashMap<>();
    Map<String, Config> tenants = tenants(tenantLimits);
    TokenSettings.Role anyToken = role("", ConfigFactory.empty(), access.section(DEFAULTS), tenants);
    boolean secretGiven = !access.text(SECRET).isBlank() || path(SECRET + "-file") != null;
    KeyEntryReader entries = new KeyEntryReader(keyDefaults, tenants, secretGiven);
    List<ApiKey> configured = entries.keys(access);
    List<Grants> isolated = new ArrayList<>(configured.stream().map(ApiKey::grants).toList());
    isolated.add(anyToken.grants());
    isolated.addAll(anyToken.tenantGrants().values());
    Path file = path("keys-file");
    if (file != null && !Files.isReadable(file)) {
      access.fault(
          "keys-file",
          "names " + file + ", which cannot be read; does it exist, and may this process read it?"
              + " \"kvasir keys create\" makes one");
    } else if (file != null) {
      try {
        Set<String> known = new HashSet<>(configured.stream().map(ApiKey::id).toList());
        List<ApiKey> inFile = entries.keys(KeyEntryReader.parse(file));
        inFile.stream().map(ApiKey::id).filter(known::contains).forEach(
            twice -> access.fault("keys-file", "has the key '" + twice + "', which is in kvasir.access.keys, too"));
      } catch (ConfigException faulty) {
        faulty.faults().forEach(access::add);
      }
    }
    TokenSettings tokens = tokens(access.section("jwt"), anyToken, tenants, tenantLimits);
    if (tokens != null) {
      tokens.roles().forEach(role -> isolated.add(role.grants()));
    }
    AccessConfig read =
        new AccessConfig(
            new KeySources(configured, file, access.durationOrNever("reload-interval"), store()),
            entries,
            tenantLimits,
            limits,
            tokens,
            salts(),
            access.flag("open"),
            access.flag("open-routing-details"));
    if (!secretGiven && isolated.stream().anyMatch(grants -> !grants.isolation().equals(Isolation.NONE))) {
      access.fault(
          SECRET, "is empty, and callers are isolated; write a random text, such as openssl rand -hex 32 prints");
    }
    access.rejectUnread();
    return read;
  }

  private @Nullable CacheSalts salts() {
    String secret = access.text(SECRET).strip();
    Path file = path(SECRET + "-file");
    if (file != null && !secret.isEmpty()) {
      access.fault(SECRET + "-file", "and isolation-secret: give one of the two");
    } else if (file != null) {
      try (Stream<String> lines = Files.lines(file)) {
        secret = lines.findFirst().orElse("").strip();
      } catch (IOException | UncheckedIOException unreadable) {
        access.fault(SECRET + "-file", "cannot be read; does it exist, and may this process read it?");
        return null;
      }
    }
    if (secret.length() < SHORTEST_SECRET && (file != null || !secret.isEmpty())) {
      access.fault(SECRET, "has to have at least " + SHORTEST_SECRET + " characters");
      return null;
    }
    return secret.isEmpty() ? null : new CacheSalts(secret.getBytes(StandardCharsets.UTF_8));
  }

  /** What the keys and the tokens' roles of each tenant may omit, by the tenant's name. */
  private Map<String, Config> tenants(Map<String, Limits> limits) {
    Map<String, Config> defaults = new HashMap<>();
    ConfigSection tenants = access.section("tenants");
    for (String name : tenants.keys()) {
      ConfigSection tenant = tenants.section(name);
      KeyEntryReader.checkName(tenants, name, name);
      Config keyOfTenant = keyDefaults;
      for (String setting : List.of("isolation", "weight")) {
        if (tenant.has(setting)) {
          keyOfTenant = tenant.subtree().withOnlyPath(setting).withFallback(keyOfTenant);
        }
      }
      KeyEntryReader.checkShared(tenant.withFallback(keyDefaults));
      if (tenant.has("limits")) {
        limits.put(name, KeyEntryReader.limits(tenant.section("limits")));
      }
      tenant.rejectUnread();
      defaults.put(name, keyOfTenant);
    }
    return defaults;
  }

  private @Nullable Path store() {
    Path store = path("store");
    if (store != null) {
      Path directory = store.toAbsolutePath().getParent();
      if (directory == null || !Files.isDirectory(directory) || !Files.isWritable(directory)) {
        access.fault("store", "is to be a file in a directory that exists and that this process may write to");
      }
    }
    return store;
  }

  private @Nullable Path path(String setting) {
    String name = access.text(setting);
    return name.isBlank() ? null : Path.of(name);
  }

  private @Nullable TokenSettings tokens(
      ConfigSection jwt, TokenSettings.Role anyToken, Map<String, Config> tenants, Map<String, Limits> tenantLimits) {
    String issuer = jwt.text("issuer");
    Set<String> audiences = new HashSet<>(jwt.textOrTexts("audience"));
    URI url = jwt.endpoint("jwks-url", "/.well-known/jwks.json");
    boolean hasUrl = !jwt.text("jwks-url").isBlank();
    String file = jwt.text("jwks-file");
    boolean on = !issuer.isBlank() || hasUrl || !file.isBlank();
    Duration refresh = jwt.duration("refresh");
    List<TokenSettings.Role> roles = roles(jwt, tenants);
    TokenSettings settings =
        new TokenSettings(
            issuer,
            audiences,
            hasUrl ? new TokenSettings.KeySource.Url(url, refresh)
                : new TokenSettings.KeySource.File(Path.of(file), refresh),
            new TokenSettings.Claims(jwt.name("key-id-claim"), jwt.name("tenant-claim"), jwt.name("roles-claim")),
            jwt.durationOrNever("leeway"),
            roles.isEmpty() ? List.of(anyToken) : roles,
            tenantLimits);
    if (on) {
      check(jwt, settings, hasUrl, file);
    }
    jwt.rejectUnread();
    return on ? settings : null;
  }

  private static void check(ConfigSection jwt, TokenSettings settings, boolean hasUrl, String file) {
    if (settings.issuer().isBlank()) {
      jwt.fault("issuer", "is empty; name the issuer as tokens do in their \"iss\"");
    }
    if (settings.audiences().isEmpty()) {
      jwt.fault("audience", "is empty: tokens for other services would be accepted; name this router's audience");
    }
    if (hasUrl == !file.isBlank()) {
      jwt.fault("jwks-url", "and jwks-file: name one of the two, where the issuer's public keys are");
    } else if (!hasUrl && !Files.isReadable(Path.of(file))) {
      jwt.fault("jwks-file", "cannot be read; does it exist, and may this process read it?");
    }
    if (settings.keys() instanceof TokenSettings.KeySource.Url(URI address, Duration _)
        && address.getScheme().equals("http")
        && !LOCAL_HOSTS.contains(address.getHost())) {
      jwt.fault("jwks-url", "has to be https: whoever answers in the issuer's place could sign tokens");
    }
  }

  private List<TokenSettings.Role> roles(ConfigSection jwt, Map<String, Config> tenants) {
    List<TokenSettings.Role> roles = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (ConfigSection section : jwt.sections("roles", ConfigFactory.empty())) {
      ConfigSection role = section.withFallback(keyDefaults);
      String name = role.name("name");
      if (!names.add(name)) {
        role.fault("name", "'" + name + "' is described twice; describe each role once");
      }
      roles.add(role(name, section.subtree(), role, tenants));
    }
    return roles;
  }

  /**
   * What tokens of a role may do: as with keys, what the role omits is the tenant's, or of the defaults.
   *
   * @param own what the role has itself
   * @param role the same over the defaults
   * @param tenants what the roles of each tenant may omit, by the tenant's name
   */
  private static TokenSettings.Role role(
      String name, Config own, ConfigSection role, Map<String, Config> tenants) {
    Map<String, Grants> tenantGrants = new HashMap<>();
    tenants.forEach((tenant, omitted) -> {
      // The faults of both are told where they are written.
      ConfigSection whole = new ConfigSection(own.withFallback(omitted), "", new ArrayList<>());
      tenantGrants.put(tenant, KeyEntryReader.grants(whole));
    });
    TokenSettings.Role read =
        new TokenSettings.Role(
            name, KeyEntryReader.grants(role), tenantGrants, KeyEntryReader.limits(role.section("limits")));
    role.rejectUnread();
    return read;
  }
}
