package io.kvasir.sim.lmcache;

import static io.kvasir.sim.lmcache.FastApi.JSON;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.lmcache.CacheEventBatch.Entry;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports to a coordinator what an engine keeps in host memory, as LMCache's servers do ({@code
 * mp_coordinator/cache_events.py} of LMCache 0.5.6): once a second, in batches of changes of one kind. What cannot be
 * delivered is lost, and leaves a gap in the batches' numbers; nothing is reported again, to a coordinator that was
 * restarted neither. The engine's ranks are one instance, and what several of them keep is reported once. Callers never
 * wait. Thread-safe.
 */
public final class CacheEventReporter implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CacheEventReporter.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final Duration TIMEOUT = Duration.ofSeconds(2);
  private static final String BACKEND = "dram";
  /** Changes that wait for the next report; LMCache has no bound. */
  private static final int MAX_PENDING = 1 << 16;

  private final URI events;
  private final String instance;
  /** LMCache has the seconds; an engine that is simulated may crash and be back within one. */
  private final long incarnation = System.currentTimeMillis();
  private final HttpClient http = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread thread;
  /** How many ranks keep a chunk; guarded by this, as all below. */
  private final Map<ChunkKey, Integer> holders = new HashMap<>();
  private List<Change> pending = new ArrayList<>();
  private long sequence;

  private record Change(CacheEventBatch.Type type, Entry entry) {}

  /**
   * Starts; the coordinator may start later.
   *
   * @param instance the engine's id
   */
  public CacheEventReporter(URI coordinator, String instance) {
    this.events = coordinator.resolve("/events");
    this.instance = instance;
    this.thread = Thread.ofVirtual().name("sim-lmcache-events-" + instance).start(this::run);
  }

  synchronized void stored(Entry entry) {
    if (holders.merge(entry.key(), 1, Integer::sum) == 1) {
      enqueue(new Change(CacheEventBatch.Type.STORE, entry));
    }
  }

  synchronized void dropped(ChunkKey key) {
    if (holders.computeIfPresent(key, (_, ranks) -> ranks == 1 ? null : ranks - 1) == null) {
      enqueue(new Change(CacheEventBatch.Type.DELETE, new Entry(key, 0, new int[0], -1)));
    }
  }

  /** Stops without a last report, as a process that is killed. */
  @Override
  public void close() {
    closed.countDown();
    http.shutdownNow();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    http.close();
  }

  private void enqueue(Change change) {
    if (pending.size() == MAX_PENDING) {
      LOG.warn("{} changes of {} are lost to the coordinator: too much changes between two reports", MAX_PENDING,
          instance);
      pending.clear();
      sequence++;
    }
    pending.add(change);
  }

  private void run() {
    try {
      while (!closed.await(INTERVAL.toMillis(), TimeUnit.MILLISECONDS)) {
        List<CacheEventBatch> batches = batches();
        if (!batches.isEmpty()) {
          report(batches);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** What is pending, with changes of one kind that follow each other in one batch. */
  private synchronized List<CacheEventBatch> batches() {
    List<Change> changes = pending;
    pending = new ArrayList<>();
    List<CacheEventBatch> batches = new ArrayList<>();
    int from = 0;
    while (from < changes.size()) {
      CacheEventBatch.Type type = changes.get(from).type();
      int to = from;
      List<Entry> entries = new ArrayList<>();
      while (to < changes.size() && changes.get(to).type() == type) {
        entries.add(changes.get(to).entry());
        to++;
      }
      sequence++;
      batches.add(
          new CacheEventBatch(
              instance, incarnation, sequence, type, CacheEventBatch.MEMORY, BACKEND, entries, false));
      from = to;
    }
    return batches;
  }

  private void report(List<CacheEventBatch> batches) throws InterruptedException {
    ObjectNode body = JSON.createObjectNode();
    ArrayNode list = body.putArray("batches");
    batches.forEach(batch -> list.add(batch.toJson()));
    HttpRequest request =
        HttpRequest.newBuilder(events)
            .timeout(TIMEOUT)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body.toString()))
            .build();
    try {
      HttpResponse<String> answer = http.send(request, BodyHandlers.ofString());
      if (answer.statusCode() != 200) {
        LOG.warn("The coordinator does not take what {} reports: {} {}", instance, answer.statusCode(), answer.body());
      }
    } catch (IOException e) {
      LOG.debug("The coordinator does not answer {}", instance, e);
    }
  }
}
