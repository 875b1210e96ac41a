package io.kvasir.gateway;

import io.kvasir.access.Authentication;
import io.kvasir.access.Authenticator;
import io.kvasir.access.CacheSalts;
import io.kvasir.access.Caller;
import io.kvasir.limits.Limiter;
import io.kvasir.telemetry.AccessLog;
import org.jspecify.annotations.Nullable;

/**
 * How callers are recognised, kept apart, limited and recorded.
 *
 * @param authenticator the check of credentials
 * @param salts the cache salts of isolated callers, null where no caller is isolated
 * @param limiter keeps callers within their limits, null where no caller has any
 * @param log the log of their requests
 */
public record GatewayAccess(
    Authenticator authenticator, @Nullable CacheSalts salts, @Nullable Limiter limiter, AccessLog log) {
  /** Every request is the anonymous caller's, whose answers have routing details, and is not logged. */
  public static GatewayAccess open() {
    Authentication anonymous = new Authentication.Accepted(Caller.anonymous(true));
    return new GatewayAccess(headers -> anonymous, null, null, AccessLog.off());
  }
}
