package io.kvasir.app.config;

import io.kvasir.lmcache.KeyDirectorySettings;
import io.kvasir.lmcache.LmCacheSettings;
import io.kvasir.lmcache.PrefetchSettings;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.lmcache}; faults are reported whether there is a controller or not. */
final class LmCacheReader {
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(2);

  private LmCacheReader() {}

  /** The settings, null without a controller and a coordinator. */
  static @Nullable LmCacheSettings read(ConfigSection lmcache) {
    boolean controlled = !lmcache.text("controller").isBlank();
    boolean coordinated = !lmcache.text("coordinator").isBlank();
    URI nowhere = URI.create("http://localhost");
    URI controller = controlled ? lmcache.url("controller") : nowhere;
    URI coordinator = coordinated ? lmcache.url("coordinator") : nowhere;
    KeyDirectorySettings directory =
        new KeyDirectorySettings(lmcache.count("world-size", 1, 1024), names(lmcache.section("models")));
    Duration timeout = lmcache.duration("controller-timeout");
    if (timeout.compareTo(LONGEST_WAIT) > 0 || timeout.toMillis() == 0) {
      lmcache.fault("controller-timeout", "has to be from 1 ms to 2 s: requests wait for it");
    }
    Duration interval = lmcache.duration("poll-interval");
    if (interval.toMillis() < 100) {
      lmcache.fault("poll-interval", "has to be at least 100 ms");
    }
    Duration staleAfter = lmcache.duration("stale-after");
    if (staleAfter.compareTo(interval) <= 0) {
      lmcache.fault("stale-after", "has to be longer than poll-interval: figures would be too old between two polls");
    }
    LmCacheSettings settings =
        new LmCacheSettings(
            controlled ? controller : coordinator,
            controlled ? null : directory,
            new LmCacheSettings.PollSettings(interval, staleAfter),
            new LmCacheSettings.LookupSettings(
                timeout,
                lmcache.count("chunk-size", 1, 65_536),
                lmcache.count("max-lookups", 1, 10_000),
                lmcache.duration("remember"),
                lmcache.flag("peer-to-peer")),
            names(lmcache.section("workers")),
            prefetch(lmcache, coordinated ? coordinator : null, controlled));
    lmcache.rejectUnread();
    return controlled || coordinated ? settings : null;
  }

  /**
   * Null without a coordinator that prefetches.
   *
   * @param listed whether its instances are listed if it does not
   */
  private static @Nullable PrefetchSettings prefetch(
      ConfigSection lmcache, @Nullable URI coordinator, boolean listed) {
    ConfigSection prefetch = lmcache.section("prefetch");
    boolean enabled = prefetch.flag("enabled");
    if (enabled && coordinator == null) {
      prefetch.fault("enabled", "needs a coordinator: name kvasir.lmcache.coordinator");
    }
    Duration budget = prefetch.duration("budget");
    if (budget.compareTo(LONGEST_WAIT) > 0 || budget.toMillis() == 0) {
      prefetch.fault("budget", "has to be from 1 ms to 2 s: requests wait for it");
    }
    Duration saving = prefetch.durationOrNever("least-saving");
    int minTokens = prefetch.count("least-tokens", 1, 10_000_000);
    prefetch.rejectUnread();
    return coordinator == null || !(enabled || listed)
        ? null
        : new PrefetchSettings(coordinator, enabled, minTokens, saving.toNanos() / 1e6, budget);
  }

  private static Map<String, String> names(ConfigSection section) {
    Map<String, String> names = new TreeMap<>();
    for (String key : section.keys()) {
      names.put(key, section.name(key));
    }
    return names;
  }
}
