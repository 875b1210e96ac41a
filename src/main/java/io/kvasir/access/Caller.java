package io.kvasir.access;

import org.jspecify.annotations.Nullable;

/**
 * The caller of a request, after authentication. Immutable.
 *
 * @param keyId the id of its key, or {@code token:} and the subject of its token; null for the anonymous caller
 * @param tenant the name of its tenant; empty for the anonymous caller
 * @param grants what it may do
 * @param limits the limits of the key
 * @param tenantLimits the limits of all keys of the tenant together
 */
public record Caller(
    @Nullable String keyId, String tenant, Grants grants, Limits limits, Limits tenantLimits) {
  /**
   * The caller of every request to a router without keys.
   *
   * @param routingDetails whether its answers say how the request was routed
   */
  public static Caller anonymous(boolean routingDetails) {
    Grants grants = routingDetails ? Grants.ALL : Grants.ALL.withoutRoutingDetails();
    return new Caller(null, "", grants, Limits.NONE, Limits.NONE);
  }

  /**
   * The same caller as an administrator looks at it: answers to it say how a request was routed.
   *
   * @param profile the routing profile of its requests; null to leave it as it is
   */
  public Caller explained(@Nullable String profile) {
    Grants shown =
        new Grants(
            grants.models(), grants.apis(), profile == null ? grants.profile() : profile, grants.highestClass(),
            grants.weight(), grants.isolation(), true, grants.requestTemplates());
    return new Caller(keyId, tenant, shown, limits, tenantLimits);
  }

  /** Whether the caller has shown credentials. */
  public boolean isIdentified() {
    return keyId != null;
  }

  /** The name of whom the caller shares cached blocks and answers with; null when it shares them with everybody. */
  public @Nullable String cacheGroup() {
    return switch (grants.isolation()) {
      case Isolation.None _ -> null;
      case Isolation.Tenant _ -> "tenant " + tenant;
      case Isolation.Key _ -> "key " + keyId;
      case Isolation.Group(String name) -> "group " + name;
    };
  }
}
