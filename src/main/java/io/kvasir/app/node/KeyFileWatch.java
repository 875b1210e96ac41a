package io.kvasir.app.node;

import io.kvasir.access.ApiKey;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.FileFingerprints;
import io.kvasir.app.config.KeyEntryReader;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a file of keys, and again whenever it or one that it includes has changed. A file with a fault is rejected
 * whole, and the keys before stay in service. A change is read when the files have stayed the same between two checks,
 * so that a half-written one is not. Owns the thread that checks. Thread-safe.
 */
final class KeyFileWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(KeyFileWatch.class);

  private final Path file;
  private final KeyEntryReader reader;
  private final Consumer<List<ApiKey>> onChange;
  private final Counter reloads;
  private final @Nullable Thread watcher;
  private List<ApiKey> keys;
  private FileFingerprints read;
  private FileFingerprints lastSeen;
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
    KeyEntryReader.KeysFile first = reader.readFile(file);
    this.keys = first.keys();
    this.read = FileFingerprints.of(file, first.source());
    this.lastSeen = read;
    onChange.accept(keys);
    this.watcher = interval.isZero() ? null : start(interval);
  }

  private Thread start(Duration interval) {
    return Thread.ofVirtual().name("kvasir-keys-file").start(() -> {
      try {
        while (true) {
          Thread.sleep(interval);
          reloadIfChanged();
        }
      } catch (InterruptedException closed) {
        LOG.debug("the check of the file of keys has ended");
      }
    });
  }

  /** Reads the file if it has changed since it was read, and not since the last check. */
  synchronized void reloadIfChanged() {
    FileFingerprints now = read.reread();
    if (now.equals(read)) {
      return;
    }
    if (!now.equals(lastSeen)) {
      lastSeen = now;
      return;
    }
    // A file that cannot be parsed is not read again before it changes.
    read = now;
    try {
      KeyEntryReader.KeysFile next = reader.readFile(file);
      read = FileFingerprints.of(file, next.source());
      faults = 0;
      boolean changed = !next.keys().equals(keys);
      reloads.labelValues(changed ? "changed" : "unchanged").inc();
      if (changed) {
        keys = next.keys();
        onChange.accept(keys);
        LOG.info("the file of keys was reloaded: it has {} keys", keys.size());
      }
    } catch (ConfigException faulty) {
      faults = faulty.faults().size();
      reloads.labelValues("refused").inc();
      LOG.error("the file of keys was not reloaded, the keys before stay valid:\n{}", faulty.getMessage());
    } finally {
      lastSeen = read;
    }
  }

  /** The faults that keep the file's keys out of service, for readiness. */
  Optional<String> degraded() {
    int open = faults;
    return open == 0
        ? Optional.empty()
        : Optional.of(
            "the file of keys has %s and was not reloaded; kvasir validate, or the log, says which"
                .formatted(open == 1 ? "a fault" : open + " faults"));
  }

  @Override
  public void close() {
    if (watcher != null) {
      watcher.interrupt();
    }
  }
}
