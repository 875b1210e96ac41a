package io.kvasir.app.config;

import io.kvasir.access.ApiKey;
import io.kvasir.access.CacheSalts;
import io.kvasir.access.Limits;
import io.kvasir.access.token.TokenSettings;
import io.kvasir.limits.LimitSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Who may use the gateway. Immutable.
 *
 * @param keys where keys are
 * @param reader reads keys from elsewhere than the configuration
 * @param tenantLimits the limits of tenants that have any, by name
 * @param limits how limits are kept
 * @param tokens which tokens are accepted beside keys, null for none
 * @param salts the cache salts of isolated callers, null where no caller is isolated
 * @param open whether a gateway without keys is reached from other machines
 * @param openRoutingDetails whether answers of a gateway without keys say how requests were routed
 */
public record AccessConfig(
    KeySources keys,
    KeyEntryReader reader,
    Map<String, Limits> tenantLimits,
    LimitSettings limits,
    @Nullable TokenSettings tokens,
    @Nullable CacheSalts salts,
    boolean open,
    boolean openRoutingDetails) {
  /** Makes the map immutable. */
  public AccessConfig {
    tenantLimits = Map.copyOf(tenantLimits);
  }

  /**
   * Where keys are.
   *
   * @param configured those of the configuration itself
   * @param file a file of keys, null for none
   * @param reloadInterval how often the file is checked for changes, zero for never
   * @param store the file in which this node keeps what the admin API changes, null for memory only
   */
  public record KeySources(
      List<ApiKey> configured, @Nullable Path file, Duration reloadInterval, @Nullable Path store) {
    /** Makes the list immutable. */
    public KeySources {
      configured = List.copyOf(configured);
    }
  }

  /** Whether requests need a key or a token from the start: some source of them is configured. */
  public boolean hasKeys() {
    return !keys.configured().isEmpty() || keys.file() != null || keys.store() != null || tokens != null;
  }
}
