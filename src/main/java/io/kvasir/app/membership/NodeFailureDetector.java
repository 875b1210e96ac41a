package io.kvasir.app.membership;

import com.typesafe.config.Config;
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
 * When another node counts as failed: when its heartbeats are missing for longer than pauses of its JVM explain, or at
 * once when its machine says that its process is gone. The latter is asked as soon as a heartbeat is late, so that a
 * crash need not wait for what a pause is allowed. Made by the platform, one for each other node. Thread-safe.
 */
final class NodeFailureDetector implements FailureDetector, FailureDetectorWithAddress {
  private static final Logger LOG = LoggerFactory.getLogger(NodeFailureDetector.class);
  private static final Duration PATIENCE = Duration.ofSeconds(1);
  private static final double LATE = 1.5;

  private final PhiAccrualFailureDetector silence;
  private final long lateNanos;
  private final AtomicBoolean asking = new AtomicBoolean();
  private volatile @Nullable Address node;
  private volatile long heardNanos;
  private volatile boolean gone;

  /**
   * As the platform makes it.
   *
   * @param config {@code pekko.cluster.failure-detector}
   */
  NodeFailureDetector(Config config, EventStream events) {
    this.silence = new PhiAccrualFailureDetector(config, events);
    this.lateNanos = (long) (LATE * config.getDuration("heartbeat-interval").toNanos());
  }

  @Override
  public void setAddress(String address) {
    silence.setAddress(address);
    node = AddressFromURIString.parse(address);
  }

  @Override
  public boolean isAvailable() {
    Address asked = node;
    if (asked != null && !gone && isMonitoring() && System.nanoTime() - heardNanos > lateNanos) {
      ask(asked);
    }
    return !gone && silence.isAvailable();
  }

  @Override
  public boolean isMonitoring() {
    return silence.isMonitoring();
  }

  @Override
  public void heartbeat() {
    heardNanos = System.nanoTime();
    gone = false;
    silence.heartbeat();
  }

  private void ask(Address asked) {
    if (asking.compareAndSet(false, true)) {
      long heard = heardNanos;
      Thread.ofVirtual().name("kvasir-late-heartbeat").start(() -> {
        if (Contact.with(asked, "", PATIENCE) == Contact.REFUSES && heard == heardNanos) {
          LOG.warn("nobody listens at {} any more: that node's process is gone", asked.hostPort());
          gone = true;
        }
        asking.set(false);
      });
    }
  }
}
