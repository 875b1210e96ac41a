package io.kvasir.lmcache;

import java.net.URI;
import java.time.Duration;

/**
 * Prefetches by LMCache's coordinator.
 *
 * @param coordinator its address, without a path
 * @param enabled whether it is used for prefetches; if not, its instances are only listed
 * @param minTokens fewer tokens that are far from the worker are left to the engine
 * @param minSavingMs how many milliseconds fetching has to save compared with computing
 * @param budget how long a request waits for it
 */
public record PrefetchSettings(
    URI coordinator, boolean enabled, int minTokens, double minSavingMs, Duration budget) {}
