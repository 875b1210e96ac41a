package io.kvasir.app.node;

import io.kvasir.access.ApiKey;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.FileReading;
import io.kvasir.app.config.KeyEntryReader;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.prometheus.metrics.core.metrics.Counter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a file of keys, and again whenever it or one that it includes has changed. A file with a fault is rejected
 * whole, and the keys before stay in service. Owns the {@link WatchedFiles}. Thread-safe.
 */
final class KeyFileWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(KeyFileWatch.class);

  private final Path file;
  private final KeyEntryReader reader;
  private final Consumer<List<ApiKey>> onChange;
  private final Counter reloads;
  private final WatchedFiles files;
  private List<ApiKey> keys;
  private volatile int faults;

  /**
   * Reads the file and starts to check it.
   *
   * @param interval between checks, zero for none
   * @param onChange gets the keys, now and whenever they are others
   * @throws ConfigException when the file has got a fault since the configuration was read
   */
  KeyFileWatch(Path file, KeyEntryReader reader, Duration interval, Consumer<List<ApiKey>> onChange, Metrics metrics)
      throws ConfigException {
    this.file = file;
    this.reader = reader;
    this.onChange = onChange;
    this.reloads =
        Counter.builder()
            .name("kvasir_keys_reloads_total")
            .help("Reloads of the file of keys by result: changed, unchanged, refused because of faults")
            .labelNames("result")
            .register(metrics.registry());
    // All series are there from the start: a scraper takes the first value of one that appears for no increase.
    List.of("changed", "unchanged", "refused").forEach(result -> reloads.initLabelValues(result));
    FileReading first = KeyEntryReader.parse(file);
    this.keys = reader.keys(first);
    this.files = new WatchedFiles("the file of keys", first.fingerprints());
    onChange.accept(keys);
    files.watch(interval, this::reloadIfChanged);
  }

  /** Reads the file if it has changed since it was read, and not since the last check. */
  synchronized void reloadIfChanged() {
    if (!files.haveSettled()) {
      return;
    }
    FileReading read = KeyEntryReader.parse(file);
    files.readAs(read.fingerprints());
    try {
      List<ApiKey> next = reader.keys(read);
      boolean changed = !next.equals(keys);
      reloads.labelValues(changed ? "changed" : "unchanged").inc();
      if (changed) {
        keys = next;
        onChange.accept(keys);
        LOG.info("the file of keys was reloaded: it has {} keys", keys.size());
      }
      // Only now: who sees the fault mended finds the new keys in force.
      faults = 0;
    } catch (ConfigException faulty) {
      faults = faulty.faults().size();
      reloads.labelValues("refused").inc();
      LOG.error("the file of keys was not reloaded, the keys before stay valid:\n{}", faulty.getMessage());
    }
  }

  /** The faults that keep the file's keys out of service, for readiness. */
  Optional<Problem> problem() {
    int open = faults;
    return open == 0
        ? Optional.empty()
        : Optional.of(Problem.warning(
            "the file of keys has %s and was not reloaded: the keys before stay valid"
                .formatted(open == 1 ? "a fault" : open + " faults"),
            "kvasir validate, or the log, says which"));
  }

  @Override
  public void close() {
    files.close();
  }
}
