package io.kvasir.routing;

import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The rules by which requests choose their profile. The client's choice comes first, where it is allowed; then its
 * tenant's profile, its model's, and the standard one.
 *
 * @param standard the profile of requests to which no other rule applies
 * @param models profile by the model's name, a LoRA adapter's included, as requests name it
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
  /** Copies the maps and the list. */
  public ProfileChoice {
    models = Map.copyOf(models);
    tenants = Map.copyOf(tenants);
    tenantHeaders = List.copyOf(tenantHeaders);
  }

  /** Rules with one profile for every request whose client does not choose. */
  public static ProfileChoice always(String standard, boolean header) {
    return new ProfileChoice(standard, Map.of(), Map.of(), List.of(), header);
  }

  /**
   * The name of a request's profile.
   *
   * @param requested the client's choice, which has been checked; null when the client does not choose
   * @param tenant the request's tenant; called only when tenants have profiles, since finding it costs a hash
   */
  public String of(@Nullable String requested, Supplier<String> tenant, String model) {
    if (requested != null) {
      return requested;
    }
    String ofTenant = tenants.isEmpty() ? null : tenants.get(tenant.get());
    return ofTenant != null ? ofTenant : models.getOrDefault(model, standard);
  }
}
