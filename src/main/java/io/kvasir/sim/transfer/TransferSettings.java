package io.kvasir.sim.transfer;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The settings of an engine's KV transfers.
 *
 * @param dialect the engine family's protocol; {@link TransferDialect#NONE} for none
 * @param port port of the side channel (NIXL's handshake, the bootstrap server); 0 for a free one
 * @param engineId the id by which other engines know it, rank r's is {@code id_dpr} with several; null for a new one at
 *     every start
 * @param gbps bandwidth of the network, gigabits per second
 * @param lease how long blocks are kept for others; null for the dialect's
 * @param watchdog how long an engine waits for the other one of a transfer; null for the dialect's
 * @param recompute whether a failed transfer is recomputed, or fails the request
 * @param encoderDirectory the directory where encoders write encoded items and others find them; null for none
 */
public record TransferSettings(
    TransferDialect dialect,
    int port,
    @Nullable String engineId,
    double gbps,
    @Nullable Duration lease,
    @Nullable Duration watchdog,
    boolean recompute,
    @Nullable Path encoderDirectory) {

  /** No transfer. */
  public static final TransferSettings NONE = of(TransferDialect.NONE);

  /** A dialect at its engines' defaults, over 100 gigabits per second. */
  public static TransferSettings of(TransferDialect dialect) {
    return new TransferSettings(dialect, 0, null, 100, null, null, false, null);
  }

  /** These, with other times. */
  public TransferSettings withTimes(Duration lease, Duration watchdog) {
    return new TransferSettings(dialect, port, engineId, gbps, lease, watchdog, recompute, encoderDirectory);
  }

  /** These, on a port and under an id that stay. */
  public TransferSettings withAddress(int port, @Nullable String engineId) {
    return new TransferSettings(dialect, port, engineId, gbps, lease, watchdog, recompute, encoderDirectory);
  }

  /** These, with failed transfers recomputed. */
  public TransferSettings withRecompute() {
    return new TransferSettings(dialect, port, engineId, gbps, lease, watchdog, true, encoderDirectory);
  }

  /** These, with a directory for encoded items. */
  public TransferSettings withEncoderDirectory(Path directory) {
    return new TransferSettings(dialect, port, engineId, gbps, lease, watchdog, recompute, directory);
  }

  /** All faults, by the command line's options; empty when an engine can start. */
  public List<String> validate() {
    List<String> wrong = new ArrayList<>();
    if (port < 0 || port > 65_535) {
      wrong.add("transfer-port: must be 0 to 65535, is " + port);
    }
    if (!(gbps > 0) || Double.isInfinite(gbps)) {
      wrong.add("kv-transfer-gbps: must be more than 0, is " + gbps);
    }
    if (lease != null && lease.toMillis() < 1) {
      wrong.add("kv-lease-ms: must be at least 1");
    }
    if (watchdog != null && watchdog.toMillis() < 1) {
      wrong.add("kv-watchdog-ms: must be at least 1");
    }
    if (engineId != null && engineId.isBlank()) {
      wrong.add("engine-id: must not be blank");
    }
    return wrong;
  }

  Duration effectiveLease() {
    return lease != null ? lease : dialect.lease();
  }

  Duration effectiveWatchdog() {
    return watchdog != null ? watchdog : dialect.watchdog();
  }
}
