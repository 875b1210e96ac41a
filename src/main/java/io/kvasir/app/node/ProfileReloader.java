package io.kvasir.app.node;

import com.typesafe.config.Config;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.ConfigFault;
import io.kvasir.app.config.FileFingerprints;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.RoutingReader;
import io.kvasir.gateway.admin.ProfilesAdmin;
import io.kvasir.gateway.admin.ProfilesHandler;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.PluginRegistry;
import io.kvasir.routing.Profiles;
import io.kvasir.semantic.SemanticClusters;
import io.kvasir.semantic.SemanticSettings;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the profiles, their choice and the semantic clusters anew when an operator asks, or has changed the
 * configuration's file or one that it includes. What has a fault is refused whole. A change is taken up when the files
 * have stayed the same between two looks, so that one that is being written is not read by half. Owns the thread that
 * looks. Thread-safe.
 */
final class ProfileReloader implements ProfilesAdmin, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ProfileReloader.class);

  private final @Nullable Path file;
  private final LiveProfiles profiles;
  private final PluginRegistry plugins;
  private final SemanticClusters clusters;
  private final LongSupplier nanos;
  private final Counter reloads;
  private final @Nullable Thread watcher;
  private volatile Config readFrom;
  private FileFingerprints read;
  private FileFingerprints lastSeen;
  private volatile long changedNanos;
  private volatile int faults;

  /**
   * Begins to look for changes.
   *
   * @param config what the node was started with
   * @param profiles where reloaded ones go
   * @param nanos a monotonic clock
   */
  ProfileReloader(KvasirConfig config, LiveProfiles profiles, Metrics metrics, LongSupplier nanos) {
    this.file = config.file();
    this.profiles = profiles;
    this.plugins = config.routing().plugins();
    this.clusters = config.routing().clusters();
    this.nanos = nanos;
    this.changedNanos = nanos.getAsLong();
    this.readFrom = config.platform();
    this.read = FileFingerprints.of(file, config.platform());
    this.lastSeen = read;
    this.reloads = Counter.builder()
        .name("kvasir_profiles_reloads_total")
        .help("Reloads of the routing profiles by result: changed, unchanged, refused because of faults")
        .labelNames("result")
        .register(metrics.registry());
    GaugeWithCallback.builder()
        .name("kvasir_profiles_age_seconds")
        .help("How long the routing profiles have been in service as they are")
        .callback(age -> age.call((nanos.getAsLong() - changedNanos) / 1e9))
        .register(metrics.registry());
    Duration interval = config.routing().reloadInterval();
    this.watcher = file == null || interval.isZero() ? null : start(interval);
  }

  private Thread start(Duration interval) {
    return Thread.ofVirtual().name("kvasir-profiles").start(() -> {
      try {
        while (true) {
          Thread.sleep(interval);
          reloadIfChanged();
        }
      } catch (InterruptedException closed) {
        LOG.debug("profiles are not looked at any more");
      }
    });
  }

  /** Reloads if the files have changed since they were read, and not since the last look. */
  synchronized void reloadIfChanged() {
    FileFingerprints now = read.reread();
    if (now.equals(read)) {
      return;
    }
    if (!now.equals(lastSeen)) {
      lastSeen = now;
      return;
    }
    switch (reload()) {
      case ReloadResult.Applied(LiveProfiles.Change change) -> {
        if (change.isNone()) {
          LOG.info("the configuration's files have changed, the profiles in them have not");
        }
      }
      case ReloadResult.Rejected ignored -> {}
      case ReloadResult.NotSupported ignored -> {}
    }
  }

  @Override
  public LiveProfiles profiles() {
    return profiles;
  }

  @Override
  public synchronized ReloadResult reload() {
    if (file == null) {
      return new ReloadResult.NotSupported(
          "this node was not started from a configuration file, so there is none to read");
    }
    FileFingerprints before = read.reread();
    List<ConfigFault> found = new ArrayList<>();
    Profiles next = null;
    SemanticSettings semantic = null;
    Config whole = readFrom;
    try {
      whole = KvasirConfig.withDefaults(KvasirConfig.parse(file));
      RoutingReader reader = new RoutingReader(whole, found);
      next = reader.profiles(plugins);
      semantic = reader.semanticClusters();
      read = FileFingerprints.of(file, whole);
    } catch (ConfigException unreadable) {
      found.addAll(unreadable.faults());
      read = before;
    }
    lastSeen = read;
    if (next == null || semantic == null || !found.isEmpty()) {
      return refused(found.stream().distinct().toList());
    }
    readFrom = whole;
    clusters.configure(semantic);
    return done(next);
  }

  private ReloadResult refused(List<ConfigFault> found) {
    faults = found.size();
    reloads.labelValues("refused").inc();
    LOG.error(
        "the profiles were not reloaded, those before stay in service:\n{}", new ConfigException(found).getMessage());
    return new ReloadResult.Rejected(found.stream().map(ConfigFault::ofProfile).toList());
  }

  private ReloadResult done(Profiles next) {
    faults = 0;
    LiveProfiles.Change change = profiles.replace(next);
    reloads.labelValues(change.isNone() ? "unchanged" : "changed").inc();
    if (!change.isNone()) {
      changedNanos = nanos.getAsLong();
      LOG.info(
          "profiles reloaded: added {}, removed {}, changed {}{}",
          change.added(), change.removed(), change.changed(), change.choice() ? ", chosen differently" : "");
    }
    return new ReloadResult.Applied(change);
  }

  /** The configuration that the profiles in service were read from. */
  Config readFrom() {
    return readFrom;
  }

  /** What is served with less than is written, for readiness. */
  Optional<String> degraded() {
    int open = faults;
    return open == 0
        ? Optional.empty()
        : Optional.of(
            "the routing profiles in the configuration have %s and were not reloaded; POST %s/reload says why"
                .formatted(open == 1 ? "a fault" : open + " faults", ProfilesHandler.PATH));
  }

  @Override
  public void close() {
    if (watcher != null) {
      watcher.interrupt();
    }
  }
}
