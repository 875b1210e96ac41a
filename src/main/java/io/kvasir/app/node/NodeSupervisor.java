package io.kvasir.app.node;

import io.kvasir.app.config.KvasirConfig;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a router node running: one that was removed from the cluster is replaced by a new one in the same process when
 * the other nodes can be reached again. The new node gets a freshly read configuration. Streams finish first, as
 * whenever a node stops. Thread-safe.
 */
public final class NodeSupervisor implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(NodeSupervisor.class);
  private static final Duration RETRY_INTERVAL = Duration.ofSeconds(10);

  private final Callable<KvasirConfig> configuration;
  private final CountDownLatch ended = new CountDownLatch(1);
  private Node node;
  private boolean closed;
  private volatile @Nullable StartException failure;

  /**
   * Starts the node, which warms up before it is ready; the nodes that replace it find the JVM warm.
   *
   * @param configuration reads the configuration for each further node
   * @param first the configuration of the first node
   */
  public NodeSupervisor(Callable<KvasirConfig> configuration, KvasirConfig first) throws StartException {
    this.configuration = configuration;
    this.node = new Node(first, new WarmUp(first.operations().warmUp()));
    watch(node);
  }

  /** The node that is running. */
  public synchronized Node node() {
    return node;
  }

  /**
   * Waits until the node has ended for good.
   *
   * @throws StartException when it ended without being closed
   */
  public void await() throws InterruptedException, StartException {
    ended.await();
    StartException why = failure;
    if (why != null) {
      throw why;
    }
  }

  @Override
  public synchronized void close() {
    closed = true;
    node.close();
    ended.countDown();
  }

  private void watch(Node watched) {
    var _ = watched.whenRejoinable().thenRun(() -> onThread(() -> replace(watched)));
    var _ = watched.whenStopped().thenRun(() -> onThread(() -> stopped(watched)));
  }

  private static void onThread(Runnable task) {
    Thread.ofPlatform().name("kvasir-rejoin").start(task);
  }

  private synchronized void stopped(Node which) {
    if (!closed && node == which) {
      end(new StartException("the node has stopped by itself; its log says why"));
    }
  }

  private void end(StartException why) {
    failure = why;
    ended.countDown();
  }

  private void replace(Node old) {
    try {
      KvasirConfig next = read();
      synchronized (this) {
        if (!closed && node == old) {
          LOG.info("the node restarts to rejoin the cluster");
          old.close();
          node = new Node(next);
          watch(node);
        }
      }
    } catch (StartException failed) {
      end(failed);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  /** Reads the configuration until it has no faults; the old node goes on alone meanwhile. */
  private KvasirConfig read() throws InterruptedException {
    while (true) {
      try {
        return configuration.call();
      } catch (Exception faulty) {
        LOG.error("the node cannot rejoin before its configuration is mended: {}", faulty.getMessage());
        Thread.sleep(RETRY_INTERVAL);
      }
    }
  }
}
