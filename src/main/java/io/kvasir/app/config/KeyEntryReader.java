package io.kvasir.app.config;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigIncluder;
import com.typesafe.config.ConfigRenderOptions;
import com.typesafe.config.ConfigResolveOptions;
import io.kvasir.access.ApiKey;
import io.kvasir.access.Grants;
import io.kvasir.access.Isolation;
import io.kvasir.access.KeyDigest;
import io.kvasir.access.Limits;
import io.kvasir.admission.ServiceClass;
import io.kvasir.http.ApiPath;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads entries of keys, wherever they stand: in the configuration, in a file of keys, in the admin API's requests and
 * in what nodes replicate. What an entry omits is its tenant's, or of {@code kvasir.access.key-defaults}. All faults
 * are reported together, and none of them quotes a digest. Immutable.
 */
public final class KeyEntryReader {
  private static final String KEYS = "keys";
  private static final String DIGEST = "sha256";
  private static final String NOT_AFTER = "not-after";
  private static final String TOKEN_PREFIX = "token:";
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._@:-]{0,127}");
  private static final Set<String> APIS =
      Arrays.stream(ApiPath.values()).map(ApiPath::label).collect(Collectors.toUnmodifiableSet());
  private static final int MAX_WEIGHT = 1_000_000;
  private static final long MAX_LIMIT = 1L << 53;

  private final Config defaults;
  private final Map<String, Config> tenants;
  private final boolean isolating;

  /**
   * A reader.
   *
   * @param defaults what entries may omit
   * @param tenants the same of tenants that have their own, by name
   * @param isolating whether there is the secret that isolated callers need
   */
  KeyEntryReader(Config defaults, Map<String, Config> tenants, boolean isolating) {
    this.defaults = defaults;
    this.tenants = Map.copyOf(tenants);
    this.isolating = isolating;
  }

  /** A reader that knows no tenants, for files that are edited without a configuration. */
  public static KeyEntryReader withoutTenants() {
    return new KeyEntryReader(
        ConfigFactory.parseResources(KeyEntryReader.class.getClassLoader(), "defaults/access.conf")
            .resolve()
            .getConfig("kvasir.access.key-defaults"),
        Map.of(),
        true);
  }

  /** Parses a file of keys. */
  public static FileReading parse(Path file) {
    return FileReading.of(file, KeyEntryReader::parse);
  }

  /**
   * The keys of a file.
   *
   * @throws ConfigException with every fault, each with its line
   */
  public List<ApiKey> keys(FileReading read) throws ConfigException {
    List<ConfigFault> faults = new ArrayList<>();
    ConfigSection section = new ConfigSection(read.config(), "", faults);
    List<ApiKey> keys = keys(section, this::checkIsolation);
    section.rejectUnread();
    if (!faults.isEmpty()) {
      throw new ConfigException(faults.stream().distinct().toList());
    }
    return keys;
  }

  private static Config parse(Path file, ConfigIncluder included) throws ConfigException {
    try {
      return ConfigFiles.parse(file, included).resolve(ConfigResolveOptions.defaults());
    } catch (com.typesafe.config.ConfigException unresolved) {
      throw new ConfigException(
          List.of(
              new ConfigFault(
                  ConfigSection.place(unresolved.origin()), "the file", String.valueOf(unresolved.getMessage()))));
    }
  }

  /**
   * An entry of the admin API, spelt as there or as in a file.
   *
   * @return the same entry as files spell it, as JSON
   * @throws ConfigException with every fault, in the admin API's spelling
   */
  public String readJson(ObjectNode entry) throws ConfigException {
    List<ConfigFault> faults = new ArrayList<>();
    Config config = AdminJsonConfig.configuration("key", entry, faults);
    ConfigSection key = new ConfigSection(config, "", faults).section("key");
    checkIsolation(key, key(key));
    if (!faults.isEmpty()) {
      List<ConfigFault> respelt = new ArrayList<>();
      AdminJsonConfig.report(
          faults,
          (path, problem) ->
              respelt.add(new ConfigFault(faults.getFirst().place(), path.replaceFirst("^key\\.", ""), problem)));
      throw new ConfigException(respelt);
    }
    return config.getConfig("key").root().render(ConfigRenderOptions.concise());
  }

  /**
   * A key from an entry that {@link #readJson} has returned, on this node or another.
   *
   * @throws ConfigException when this node cannot read it: one of a later version may have written it
   */
  public ApiKey readStored(String json) throws ConfigException {
    List<ConfigFault> faults = new ArrayList<>();
    try {
      ApiKey key = key(new ConfigSection(ConfigFactory.parseString(json), "", faults));
      if (faults.isEmpty()) {
        return key;
      }
    } catch (com.typesafe.config.ConfigException malformed) {
      faults.add(new ConfigFault(ConfigSection.place(malformed.origin()), "the entry", "is malformed"));
    }
    throw new ConfigException(faults);
  }

  /** The keys of a section's {@code keys}, whose ids and digests are unique; whether they can be isolated is open. */
  List<ApiKey> keys(ConfigSection section) {
    return keys(section, (_, _) -> {});
  }

  private List<ApiKey> keys(ConfigSection section, BiConsumer<ConfigSection, ApiKey> check) {
    List<ApiKey> keys = new ArrayList<>();
    Set<String> ids = new HashSet<>();
    Map<KeyDigest, String> digests = new HashMap<>();
    for (ConfigSection entry : section.sections(KEYS, ConfigFactory.empty())) {
      ApiKey key = key(entry);
      check.accept(entry, key);
      if (!key.id().isEmpty() && !ids.add(key.id())) {
        entry.fault("id", "'" + key.id() + "' is taken by another key; ids are unique");
      }
      String other = digests.putIfAbsent(key.digest(), key.id());
      if (other != null && entry.has(DIGEST) && KeyDigest.isHex(entry.text(DIGEST))) {
        entry.fault(DIGEST, "is that of the key '" + other + "', too; give each key a text of its own");
      }
      keys.add(key);
    }
    return keys;
  }

  private ApiKey key(ConfigSection entry) {
    String tenant = entry.name("tenant");
    checkName(entry, "tenant", tenant);
    String id = entry.name("id");
    checkName(entry, "id", id);
    if (id.startsWith(TOKEN_PREFIX)) {
      entry.fault("id", "begins with " + TOKEN_PREFIX + ", as the ids of tokens do; choose another");
    }
    KeyDigest digest = digest(entry);
    ConfigSection whole = entry.withFallback(tenants.getOrDefault(tenant, defaults));
    List.of("id", "tenant", DIGEST).forEach(whole::has);
    ApiKey key =
        new ApiKey(
            id,
            digest,
            previous(whole),
            tenant,
            whole.has(NOT_AFTER) ? instant(whole) : null,
            whole.has("disabled") && whole.flag("disabled"),
            grants(whole),
            limits(whole.section("limits")));
    whole.rejectUnread();
    return key;
  }

  private static ApiKey.@Nullable PreviousDigest previous(ConfigSection entry) {
    if (!entry.has("previous")) {
      return null;
    }
    ConfigSection previous = entry.section("previous");
    KeyDigest digest = digest(previous);
    Instant notAfter = instant(previous);
    previous.rejectUnread();
    return new ApiKey.PreviousDigest(digest, notAfter == null ? Instant.EPOCH : notAfter);
  }

  private static KeyDigest digest(ConfigSection entry) {
    String hex = entry.name(DIGEST);
    if (KeyDigest.isHex(hex)) {
      return KeyDigest.ofHex(hex);
    }
    if (!hex.isBlank()) {
      entry.fault(
          DIGEST, "has to be 64 lower-case hexadecimal digits: the key's SHA-256, which kvasir keys digest prints");
    }
    return KeyDigest.of("");
  }

  /** A time, or the end of a day; null where the text is empty. */
  private static @Nullable Instant instant(ConfigSection entry) {
    String text = entry.text(NOT_AFTER);
    if (text.isBlank()) {
      return null;
    }
    try {
      return text.contains("T")
          ? Instant.parse(text)
          : LocalDate.parse(text).plusDays(1).atStartOfDay().toInstant(ZoneOffset.UTC).minusMillis(1);
    } catch (DateTimeParseException malformed) {
      entry.fault(NOT_AFTER, "has to be a day such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z");
      return null;
    }
  }

  /** What callers may do, of a key, a role or the defaults of both. */
  static Grants grants(ConfigSection section) {
    Set<String> apis = new TreeSet<>(section.texts("apis"));
    for (String api : apis) {
      if (!APIS.contains(api)) {
        section.fault("apis", "has '%s'; there are %s".formatted(api, String.join(", ", new TreeSet<>(APIS))));
      }
    }
    List<String> models = section.texts("models");
    if (models.stream().anyMatch(model -> model.isBlank() || (model.indexOf('*') >= 0 && !model.endsWith("*")))) {
      section.fault("models", "has to be names of models; a * stands at the end of one, for all that begin like it");
    }
    String profile = section.text("profile");
    return new Grants(
        new HashSet<>(models),
        apis,
        profile.isBlank() ? null : profile,
        section.choice("highest-class", ServiceClass.class),
        section.count("weight", 1, MAX_WEIGHT),
        isolation(section),
        section.flag("routing-details"),
        section.flag("request-templates"));
  }

  /** Reports the faults of what a tenant lays down for its keys. */
  static void checkShared(ConfigSection tenant) {
    tenant.count("weight", 1, MAX_WEIGHT);
    isolation(tenant);
  }

  private static Isolation isolation(ConfigSection section) {
    if (section.isSection("isolation")) {
      ConfigSection isolation = section.section("isolation");
      String group = isolation.name("group");
      checkName(isolation, "group", group);
      isolation.rejectUnread();
      return new Isolation.Group(group);
    }
    String spelt = section.text("isolation");
    return switch (spelt) {
      case "none" -> Isolation.NONE;
      case "tenant" -> new Isolation.Tenant();
      case "key" -> new Isolation.Key();
      default -> {
        section.fault("isolation", "has to be none, tenant, key or { group = NAME }, not '" + spelt + "'");
        yield new Isolation.Key();
      }
    };
  }

  /** Limits, of which all may be omitted. */
  static Limits limits(ConfigSection limits) {
    List<Limits.Budget> budgets = new ArrayList<>();
    if (limits.has("budgets")) {
      for (ConfigSection budget : limits.sections("budgets", ConfigFactory.empty())) {
        budgets.add(new Limits.Budget(budget.whole("tokens", 1, MAX_LIMIT), budget.duration("window")));
        budget.rejectUnread();
      }
    }
    Limits read =
        new Limits(
            limits.has("requests-per-minute") ? limits.whole("requests-per-minute", 0, MAX_LIMIT) : 0,
            limits.has("tokens-per-minute") ? limits.whole("tokens-per-minute", 0, MAX_LIMIT) : 0,
            limits.has("concurrent") ? limits.count("concurrent", 0, MAX_WEIGHT) : 0,
            budgets);
    limits.rejectUnread();
    return read;
  }

  /**
   * Reports an entry's own isolation where it cannot be had. What the entry omits was checked with the configuration;
   * what is replicated is another node's, and its requests are refused.
   */
  private void checkIsolation(ConfigSection entry, ApiKey key) {
    if (!isolating && entry.has("isolation") && !key.grants().isolation().equals(Isolation.NONE)) {
      entry.fault(
          "isolation",
          "needs kvasir.access.isolation-secret, which is empty; give all nodes the same random text there, such as"
              + " openssl rand -hex 32 prints, or leave isolation out");
    }
  }

  /** Reports a name that does not fit into metrics, logs and paths as it is. */
  static void checkName(ConfigSection section, String setting, String name) {
    if (!name.isBlank() && !NAME.matcher(name).matches()) {
      section.fault(
          setting, "has to be 1 to 128 letters, digits and . _ @ : - beginning with a letter or digit");
    }
  }
}
