package io.kvasir.access.token;

import io.kvasir.access.Grants;
import io.kvasir.access.Limits;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Which tokens (JSON Web Tokens) are accepted, and as whose. Immutable.
 *
 * @param issuer the {@code iss} that a token has to have
 * @param audiences of which a token's {@code aud} has to have one
 * @param keys where the issuer's public keys are
 * @param claims which claims name the caller
 * @param leeway by which the clocks of issuer and router may differ
 * @param roles what tokens may do, in the order in which they are looked for in a token
 * @param tenantLimits the limits of tenants that have any, by name
 */
public record TokenSettings(
    String issuer,
    Set<String> audiences,
    KeySource keys,
    Claims claims,
    Duration leeway,
    List<Role> roles,
    Map<String, Limits> tenantLimits) {
  /** Makes the collections immutable. */
  public TokenSettings {
    audiences = Set.copyOf(audiences);
    roles = List.copyOf(roles);
    tenantLimits = Map.copyOf(tenantLimits);
  }

  /** The place of an issuer's public keys, a JSON Web Key Set. */
  public sealed interface KeySource {
    /** How old the keys become before they are read again. */
    Duration refresh();

    /** An address of the issuer. */
    record Url(URI address, Duration refresh) implements KeySource {}

    /** A file. */
    record File(Path file, Duration refresh) implements KeySource {}
  }

  /**
   * The names of claims.
   *
   * @param id the claim that identifies the caller, as a key's id does
   * @param tenant the claim that names the tenant
   * @param roles the claim that lists the roles, or names one
   */
  public record Claims(String id, String tenant, String roles) {}

  /**
   * A role: what tokens that have it may do and use.
   *
   * @param name as tokens have it; empty for a role that every token has
   * @param grants what tokens of most tenants may do
   * @param tenantGrants what those of tenants may do that have terms of their own, by the tenant's name
   */
  public record Role(String name, Grants grants, Map<String, Grants> tenantGrants, Limits limits) {
    /** Makes the map immutable. */
    public Role {
      tenantGrants = Map.copyOf(tenantGrants);
    }

    /** What a tenant's tokens may do. */
    public Grants grants(String tenant) {
      return tenantGrants.getOrDefault(tenant, grants);
    }
  }
}
