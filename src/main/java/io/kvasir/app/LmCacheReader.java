package io.kvasir.app;

import io.kvasir.lmcache.LmCache;
import io.kvasir.lmcache.LmCacheSettings;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.lmcache}; faults are told whether there is a controller or not. */
final class LmCacheReader {
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(2);

  private LmCacheReader() {}

  /** What the section says, null when it names no controller. */
  static @Nullable LmCache read(ConfigSection lmcache) {
    boolean named = !lmcache.text("controller").isBlank();
    URI controller = named ? lmcache.url("controller") : URI.create("http://localhost");
    Duration patience = lmcache.duration("controller-timeout");
    if (patience.compareTo(LONGEST_WAIT) > 0 || patience.toMillis() == 0) {
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
            interval,
            staleAfter,
            patience,
            lmcache.count("chunk-size", 1, 65_536),
            lmcache.count("max-lookups", 1, 10_000),
            lmcache.duration("remember"),
            workers(lmcache.section("workers")));
    lmcache.rejectUnread();
    return named ? new LmCache(settings) : null;
  }

  private static Map<String, String> workers(ConfigSection workers) {
    Map<String, String> byInstance = new TreeMap<>();
    for (String instance : workers.keys()) {
      byInstance.put(instance, workers.name(instance));
    }
    return byInstance;
  }
}
