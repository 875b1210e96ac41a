package io.kvasir.app.node;

import com.typesafe.config.Config;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.ConfigFault;
import io.kvasir.app.config.FileFingerprints;
import io.kvasir.app.config.FileReading;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.MissingIncludes;
import io.kvasir.app.config.OperatorFile;
import io.kvasir.app.config.RoutingReader;
import io.kvasir.app.config.RoutingReader.ReloadableRouting;
import io.kvasir.gateway.admin.ProfilesAdmin;
import io.kvasir.gateway.admin.ProfilesHandler;
import io.kvasir.routing.CompilationFault;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.PluginRegistry;
import io.kvasir.routing.Profiles;
import io.kvasir.semantic.SemanticClusters;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reloads the profiles, their choice and the semantic clusters on an operator's request, and when the configuration's
 * file or one that it includes has changed. A configuration with a fault is rejected whole. Owns the
 * {@link WatchedFiles}. Thread-safe.
 */
final class ProfileReloader implements ProfilesAdmin, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ProfileReloader.class);

  private final @Nullable OperatorFile file;
  private final LiveProfiles profiles;
  private final PluginRegistry plugins;
  private final SemanticClusters clusters;
  private final LongSupplier nanos;
  private final Counter reloads;
  private final WatchedFiles files;
  private volatile Config readFrom;
  private volatile long changedNanos;
  private volatile int faults;
  private volatile MissingIncludes missing;

  /**
   * Starts to check for changes.
   *
   * @param config what the node was started with
   * @param routing takes the reloaded profiles and semantic clusters
   * @param nanos a monotonic clock
   */
  ProfileReloader(KvasirConfig config, RoutingAssembly routing, Metrics metrics, LongSupplier nanos) {
    this.file = config.source().file();
    this.profiles = routing.profiles();
    this.plugins = routing.plugins();
    this.clusters = routing.clusters();
    this.nanos = nanos;
    this.changedNanos = nanos.getAsLong();
    this.readFrom = config.source().platform();
    this.missing = file == null ? new MissingIncludes(List.of()) : logged(file.missing());
    this.files =
        new WatchedFiles("the files of the profiles", file == null ? FileFingerprints.NONE : file.fingerprints());
    this.reloads = Counter.builder()
        .name("kvasir_profiles_reloads_total")
        .help("Reloads of the routing profiles by result: changed, unchanged, refused because of faults")
        .labelNames("result")
        .register(metrics.registry());
    // All series are there from the start: a scraper takes the first value of one that appears for no increase.
    List.of("changed", "unchanged", "refused").forEach(result -> reloads.initLabelValues(result));
    GaugeWithCallback.builder()
        .name("kvasir_profiles_age_seconds")
        .help("How long the routing profiles have been in service as they are")
        .callback(age -> age.call((nanos.getAsLong() - changedNanos) / 1e9))
        .register(metrics.registry());
    files.watch(file == null ? Duration.ZERO : config.routing().reloadInterval(), this::reloadIfChanged);
  }

  /** Reloads if the files have changed since they were read, and not since the last check. */
  synchronized void reloadIfChanged() {
    if (!files.haveSettled()) {
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
  public Instant loadedAt() {
    return Instant.now().minusNanos(nanos.getAsLong() - changedNanos).truncatedTo(ChronoUnit.SECONDS);
  }

  @Override
  public synchronized ReloadResult reload() {
    if (file == null) {
      return new ReloadResult.NotSupported(
          "this node was not started from a configuration file, so there is none to read");
    }
    FileReading read = file.read();
    files.readAs(read.fingerprints());
    missing = logged(read.missing());
    try {
      ReloadableRouting routing = RoutingReader.reloadable(read.config(), plugins);
      readFrom = read.config();
      clusters.configure(routing.semanticClusters());
      return applied(routing.profiles());
    } catch (ConfigException faulty) {
      return rejected(faulty);
    }
  }

  private static MissingIncludes logged(MissingIncludes missing) {
    missing.problem().ifPresent(problem -> LOG.warn("{}", problem.line()));
    return missing;
  }

  private ReloadResult rejected(ConfigException faulty) {
    faults = faulty.faults().size();
    reloads.labelValues("refused").inc();
    LOG.error("the profiles were not reloaded, the previous ones stay in service:\n{}", faulty.getMessage());
    return new ReloadResult.Rejected(faulty.faults().stream().map(ProfileReloader::shown).toList());
  }

  private static ProfileFault shown(ConfigFault fault) {
    CompilationFault compiled = fault.profile();
    return new ProfileFault(
        fault.path(),
        compiled == null ? null : compiled.profile(),
        compiled == null ? null : compiled.plugin(),
        fault.place().file(),
        fault.place().line(),
        compiled == null ? fault.problem() : compiled.problem(),
        compiled == null ? "" : compiled.remedy());
  }

  private ReloadResult applied(Profiles next) {
    LiveProfiles.Change change = profiles.replace(next);
    // Only now: who sees the fault mended finds the new profiles in service.
    faults = 0;
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

  /** The faults that keep the written profiles out of service, and what the files lack, for readiness. */
  List<Problem> problems() {
    return Stream.of(faulty(faults), missing.problem()).flatMap(Optional::stream).toList();
  }

  private static Optional<Problem> faulty(int open) {
    return open == 0
        ? Optional.empty()
        : Optional.of(Problem.warning(
            "the routing profiles in the configuration have %s and were not reloaded"
                .formatted(open == 1 ? "a fault" : open + " faults"),
            "POST %s/reload says why".formatted(ProfilesHandler.PATH)));
  }

  @Override
  public void close() {
    files.close();
  }
}
