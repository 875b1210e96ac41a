package io.kvasir.app.config;

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

  /** The settings, null without a controller. */
  static @Nullable LmCacheSettings read(ConfigSection lmcache) {
    boolean named = !lmcache.text("controller").isBlank();
    URI controller = named ? lmcache.url("controller") : URI.create("http://localhost");
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
            controller,
            new LmCacheSettings.PollSettings(interval, staleAfter),
            new LmCacheSettings.LookupSettings(
                timeout,
                lmcache.count("chunk-size", 1, 65_536),
                lmcache.count("max-lookups", 1, 10_000),
                lmcache.duration("remember")),
            workers(lmcache.section("workers")),
            prefetch(lmcache, named));
    lmcache.rejectUnread();
    return named ? settings : null;
  }

  /** Null without a coordinator. */
  private static @Nullable PrefetchSettings prefetch(ConfigSection lmcache, boolean lookedUp) {
    boolean named = !lmcache.text("coordinator").isBlank();
    if (named && !lookedUp) {
      lmcache.fault("coordinator", "fetches what the controller has looked up: name kvasir.lmcache.controller, too");
    }
    URI coordinator = named ? lmcache.url("coordinator") : URI.create("http://localhost");
    ConfigSection prefetch = lmcache.section("prefetch");
    boolean enabled = prefetch.flag("enabled");
    if (enabled && !named) {
      prefetch.fault("enabled", "needs a coordinator: name kvasir.lmcache.coordinator");
    }
    Duration budget = prefetch.duration("budget");
    if (budget.compareTo(LONGEST_WAIT) > 0 || budget.toMillis() == 0) {
      prefetch.fault("budget", "has to be from 1 ms to 2 s: requests wait for it");
    }
    Duration saving = prefetch.durationOrNever("least-saving");
    PrefetchSettings settings =
        new PrefetchSettings(
            coordinator, enabled, prefetch.count("least-tokens", 1, 10_000_000), saving.toNanos() / 1e6, budget);
    prefetch.rejectUnread();
    return named ? settings : null;
  }

  private static Map<String, String> workers(ConfigSection workers) {
    Map<String, String> byInstance = new TreeMap<>();
    for (String instance : workers.keys()) {
      byInstance.put(instance, workers.name(instance));
    }
    return byInstance;
  }
}
