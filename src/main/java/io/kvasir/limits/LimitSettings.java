package io.kvasir.limits;

import java.time.Duration;

/**
 * How limits are kept.
 *
 * @param shadow whether requests beyond a limit are only counted and logged
 * @param cost what tokens cost
 * @param burst how long a rate takes to fill its bucket: what may be used at once after a pause
 * @param ownerTimeout how long a request waits for its limit's owner, before its node's own share decides
 * @param tenants how many tenants have a metric of their own; the others share one
 */
public record LimitSettings(boolean shadow, WorkCost cost, Duration burst, Duration ownerTimeout, int tenants) {}
