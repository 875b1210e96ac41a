package io.kvasir.app.membership;

import com.typesafe.config.Config;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.pekko.actor.Address;
import org.apache.pekko.actor.AddressFromURIString;
import org.apache.pekko.event.EventStream;
import org.apache.pekko.remote.FailureDetector;
import org.apache.pekko.remote.FailureDetectorWithAddress;
import org.apache.pekko.remote.PhiAccrualFailureDetector;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides when another node has failed: when its heartbeats are missing for longer than pauses of its JVM explain, or
 * at once when its machine refuses connections because the process has ended. That is probed as soon as a heartbeat is
 * late, so that a crash need not take as long as a pause may. The platform makes one for each other node. Thread-safe.
 */
final class NodeFailureDetector implements FailureDetector, FailureDetectorWithAddress {
  private static final Logger LOG = LoggerFactory.getLogger(NodeFailureDetector.class);
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(1);
  private static final double LATE = 1.5;

  private final PhiAccrualFailureDetector phiAccrual;
  private final long lateNanos;
  private final AtomicBoolean probing = new AtomicBoolean();
  private volatile @Nullable Address node;
  private volatile long lastHeartbeatNanos;
  private volatile boolean crashed;

  /**
   * Called by the platform.
   *
   * @param config {@code pekko.cluster.failure-detector}
   */
  NodeFailureDetector(Config config, EventStream events) {
    this.phiAccrual = new PhiAccrualFailureDetector(config, events);
    this.lateNanos = (long) (LATE * config.getDuration("heartbeat-interval").toNanos());
  }

  @Override
  public void setAddress(String address) {
    phiAccrual.setAddress(address);
    node = AddressFromURIString.parse(address);
  }

  @Override
  public boolean isAvailable() {
    Address monitored = node;
    if (monitored != null && !crashed && isMonitoring() && System.nanoTime() - lastHeartbeatNanos > lateNanos) {
      checkNode(monitored);
    }
    return !crashed && phiAccrual.isAvailable();
  }

  @Override
  public boolean isMonitoring() {
    return phiAccrual.isMonitoring();
  }

  @Override
  public void heartbeat() {
    lastHeartbeatNanos = System.nanoTime();
    crashed = false;
    phiAccrual.heartbeat();
  }

  private void checkNode(Address monitored) {
    if (probing.compareAndSet(false, true)) {
      long lastSeenNanos = lastHeartbeatNanos;
      Thread.ofVirtual().name("kvasir-late-heartbeat").start(() -> {
        InetSocketAddress transport = ConnectResult.transport(monitored);
        boolean refused = ConnectResult.probe(transport, "", CONNECT_TIMEOUT) == ConnectResult.REFUSED;
        if (refused && lastSeenNanos == lastHeartbeatNanos) {
          LOG.warn("connections to {} are refused: that node's process has ended", monitored.hostPort());
          crashed = true;
        }
        probing.set(false);
      });
    }
  }
}
