package io.kvasir.routing;

import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Which profile decides about which request. The client's own choice comes first, where it is allowed to make one; then
 * its tenant's, its model's, and the standard one.
 *
 * @param standard for requests of which nothing else is said
 * @param models profile by the model's name, a LoRA adapter's included, as requests write it
 * @param tenants profile by the tenant's name
 * @param tenantHeaders headers that name the tenant, in order of preference; without one of them a tenant is named by a
 *     hash of its API key
 * @param header whether clients may choose with a header
 */
public record ProfileChoice(
    String standard,
    Map<String, String> models,
    Map<String, String> tenants,
    List<String> tenantHeaders,
    boolean header) {
  /** Copies what it is given. */
  public ProfileChoice {
    models = Map.copyOf(models);
    tenants = Map.copyOf(tenants);
    tenantHeaders = List.copyOf(tenantHeaders);
  }

  /** The same profile for every request that does not choose. */
  public static ProfileChoice always(String standard, boolean header) {
    return new ProfileChoice(standard, Map.of(), Map.of(), List.of(), header);
  }

  /**
   * Name of the profile.
   *
   * @param wanted what the client asks for, which has been found to be allowed; null when it does not
   * @param tenant asked only where tenants have profiles of their own: telling it costs a hash
   */
  public String of(@Nullable String wanted, Supplier<String> tenant, String model) {
    if (wanted != null) {
      return wanted;
    }
    String ofTenant = tenants.isEmpty() ? null : tenants.get(tenant.get());
    return ofTenant != null ? ofTenant : models.getOrDefault(model, standard);
  }
}
