package io.kvasir.lmcache;

import java.net.URI;
import java.time.Duration;

/**
 * How LMCache's coordinator is asked to fetch what is far from a worker.
 *
 * @param coordinator its address, without a path
 * @param enabled whether it is; if not its instances are only looked at
 * @param leastTokens fewer that lie far away are left to the engine
 * @param leastSavingMs how much less than computing them fetching has to take
 * @param budget how long a request waits for it
 */
public record PrefetchSettings(
    URI coordinator, boolean enabled, int leastTokens, double leastSavingMs, Duration budget) {}
