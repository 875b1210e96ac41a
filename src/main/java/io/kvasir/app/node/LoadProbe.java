package io.kvasir.app.node;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Scheduler;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.HealthProbe;
import io.kvasir.engines.LoadFeed;
import io.kvasir.engines.LoadPublishing;
import io.kvasir.engines.SglangLoad;
import io.kvasir.http.client.PodException;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Load as engines push it, where they offer it: a pod whose load is read is asked once for what its {@code
 * /server_info} announces, and from then on the newest message of each rank is the report. While there is none the pod
 * is polled, as all others are. One that announces nothing, as vLLM, whose log names each page that it does not have,
 * is left alone until it comes back from a loss: only another engine could announce something. Each pod that comes
 * back is asked anew, since it may be another engine.
 *
 * <p>Thread-safe. Closing it ends the subscriptions and closes the probe that polls.
 */
final class LoadProbe implements HealthProbe, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LoadProbe.class);
  private static final int MAX_PODS = 10_000;

  /** After how long a pod that announced nothing is asked again, should another engine have come unnoticed. */
  private static final Duration UNANNOUNCED = Duration.ofHours(6);

  /** The same of one that did not answer, or announced what is silent: it may start, or with other ports. */
  private static final Duration SILENT = Duration.ofMinutes(1);

  /** After how long nobody has read a pod's load its subscriptions end: the pod is no more. */
  private static final Duration UNREAD = Duration.ofMinutes(10);

  private final HttpProbe polls;
  private final EventStreams streams;
  private final NanoClock clock;
  private final LoadMetrics metrics;
  private final Cache<URI, PodLoad> pods =
      Caffeine.newBuilder()
          .maximumSize(MAX_PODS)
          .expireAfterAccess(UNREAD)
          .scheduler(Scheduler.systemScheduler())
          .executor(Runnable::run)
          .<URI, PodLoad>removalListener((_, pod, _) -> {
            if (pod != null) {
              pod.close();
            }
          })
          .build();

  /**
   * A probe.
   *
   * @param polls reads the load of those that push none, and the health of all; closed with this
   * @param streams has the threads that read sockets; must be open for as long as this is
   */
  LoadProbe(HttpProbe polls, EventStreams streams, Metrics metrics, NanoClock clock) {
    this.polls = polls;
    this.streams = streams;
    this.clock = clock;
    this.metrics = new LoadMetrics(metrics, () -> count(true), () -> count(false));
  }

  @Override
  public CompletionStage<Boolean> probe(URI pod) {
    return polls.probe(pod).whenComplete((well, _) -> {
      PodLoad load = pods.getIfPresent(pod);
      if (load != null) {
        load.onHealth(Boolean.TRUE.equals(well));
      }
    });
  }

  @Override
  public CompletionStage<Map<Integer, EngineReport>> reports(URI pod) {
    PodLoad load = pods.get(pod, PodLoad::new);
    Map<Integer, EngineReport> pushed = load.reports();
    if (!pushed.isEmpty()) {
      metrics.pushed();
      return CompletableFuture.completedStage(pushed);
    }
    load.inquireIfDue();
    metrics.polled();
    return polls.reports(pod).whenComplete((_, failure) -> {
      if (failure != null) {
        load.onHealth(false);
      }
    });
  }

  @Override
  public CompletionStage<Boolean> canary(Worker worker) {
    return polls.canary(worker);
  }

  private int count(boolean live) {
    return (int) pods.asMap().values().stream().filter(pod -> pod.isAnnounced() && pod.isLive() == live).count();
  }

  @Override
  public void close() {
    pods.asMap().values().forEach(PodLoad::close);
    polls.close();
  }

  /** What is known of how one pod's load can be read. */
  private final class PodLoad {
    private final URI url;
    private volatile @Nullable PushedLoad pushed;
    private long dueNanos = clock.nanos();
    private boolean inquiring;
    private boolean lost;

    /** It came back from a loss while it was asked: what is answered may be of the engine that is no more. */
    private boolean outdated;

    private boolean closed;

    PodLoad(URI url) {
      this.url = url;
    }

    Map<Integer, EngineReport> reports() {
      PushedLoad known = pushed;
      return known == null ? Map.of() : known.reports();
    }

    boolean isAnnounced() {
      return pushed != null;
    }

    boolean isLive() {
      return !reports().isEmpty();
    }

    synchronized void inquireIfDue() {
      if (!closed && !inquiring && clock.nanos() - dueNanos >= 0) {
        inquiring = true;
        Thread.ofVirtual().name("kvasir-load-inquiry").start(this::inquire);
      }
    }

    /** What is well after it was not may be another engine. */
    synchronized void onHealth(boolean well) {
      if (well && lost) {
        dueNanos = clock.nanos();
        outdated = inquiring;
      }
      lost = !well;
    }

    private void inquire() {
      boolean nothing = false;
      try {
        switch (SglangLoad.publishing(url, polls.page(url, SglangLoad.PAGE))) {
          case LoadPublishing.Zmq(LoadFeed feed) -> follow(feed);
          case LoadPublishing.Untold _ -> {
            nothing = true;
            follow(null);
          }
          case LoadPublishing.Unusable(String why) -> {
            nothing = true;
            follow(null);
            LOG.warn("the load that {} publishes is not read, its metrics are polled instead. {}", url, why);
          }
        }
      } catch (PodException unanswered) {
        LOG.debug("{} did not answer at {}: asked again in {}", url, SglangLoad.PAGE, SILENT, unanswered);
      } finally {
        inquired(nothing);
      }
    }

    private synchronized void inquired(boolean nothing) {
      inquiring = false;
      if (!outdated) {
        dueNanos = clock.nanos() + (nothing ? UNANNOUNCED : SILENT).toNanos();
      }
      outdated = false;
    }

    private synchronized void follow(@Nullable LoadFeed feed) {
      if (closed || (pushed != null && pushed.feed().equals(feed))) {
        return;
      }
      if (pushed != null) {
        pushed.close();
      }
      pushed = feed == null ? null : new PushedLoad(feed, streams, clock, metrics::malformed);
    }

    synchronized void close() {
      closed = true;
      if (pushed != null) {
        pushed.close();
        pushed = null;
      }
    }
  }
}
