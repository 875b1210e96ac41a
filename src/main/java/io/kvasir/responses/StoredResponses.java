package io.kvasir.responses;

import io.kvasir.responses.ResponseMessage.Find;
import io.kvasir.responses.ResponseMessage.Found;
import io.kvasir.responses.ResponseMessage.Remember;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.Scheduler;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.jspecify.annotations.Nullable;

/**
 * Which worker has which stored response, as far as this node knows, or another does. Bounded: what all have forgotten
 * goes to any worker. Thread-safe; its actor ends with the system.
 */
public final class StoredResponses {
  /** Responses that a node remembers: some 20 MB. */
  private static final int LIMIT = 100_000;

  /** Other nodes that remember a response, besides the one that relayed it. */
  private static final int COPIES = 2;

  /** Characters of an id that is remembered; no engine has longer ones, but a request may. */
  private static final int MAX_ID = 256;

  /** Other nodes that are asked for a response that this one does not know. */
  private static final int MOST_QUERIED = 16;

  private static final Duration TIMEOUT = Duration.ofMillis(500);

  private final @Nullable Scheduler scheduler;
  private final ResponseTable known = new ResponseTable(LIMIT);
  private final Counter lookups;
  private volatile List<ActorRef<ResponseMessage>> others = List.of();

  private StoredResponses(@Nullable Scheduler scheduler, Metrics metrics) {
    this.scheduler = scheduler;
    this.lookups =
        Counter.builder()
            .name("kvasir_stored_response_lookups_total")
            .help("Requests for a stored response, or that build on one, by who knew its worker: this node (local),"
                + " another (peer), or none (unknown), so that any worker may get it")
            .labelNames("known_by")
            .register(metrics.registry());
  }

  /** Those of a node without others. */
  public static StoredResponses alone(Metrics metrics) {
    return new StoredResponses(null, metrics);
  }

  /**
   * Those of a node among others. Once for each actor system, with which it ends.
   *
   * @param system a member of the cluster, or about to become one
   */
  public static StoredResponses start(ActorSystem<?> system, Metrics metrics) {
    StoredResponses started = new StoredResponses(system.scheduler(), metrics);
    system.systemActorOf(
        ResponseKeeper.create(started.known, started::setOthers), "kvasir-stored-responses", Props.empty());
    return started;
  }

  private void setOthers(Collection<ActorRef<ResponseMessage>> keepers) {
    others = List.copyOf(keepers);
  }

  /** How many other nodes remember responses, too. */
  int nodes() {
    return others.size();
  }

  /** Remembers where a response is, here and on two other nodes. Does not wait for them. */
  public void remember(String response, ResponseLocation location) {
    if (response.length() > MAX_ID) {
      return;
    }
    known.put(response, location);
    byRank(response, COPIES).forEach(keeper -> keeper.tell(new Remember(response, location)));
  }

  /** Where a response is; null when no node knows. Waits for the other nodes, half a second at most. */
  public @Nullable ResponseLocation find(String response) {
    ResponseLocation here = known.get(response);
    if (here != null) {
      lookups.labelValues("local").inc();
      return here;
    }
    ResponseLocation there = findElsewhere(response);
    lookups.labelValues(there == null ? "unknown" : "peer").inc();
    if (there != null) {
      known.put(response, there);
    }
    return there;
  }

  private @Nullable ResponseLocation findElsewhere(String response) {
    Scheduler timer = scheduler;
    if (response.length() > MAX_ID) {
      return null;
    }
    List<ActorRef<ResponseMessage>> queried = byRank(response, MOST_QUERIED);
    if (queried.isEmpty() || timer == null) {
      return null;
    }
    CompletableFuture<@Nullable ResponseLocation> first = new CompletableFuture<>();
    AtomicInteger outstanding = new AtomicInteger(queried.size());
    for (ActorRef<ResponseMessage> keeper : queried) {
      AskPattern.<ResponseMessage, Found>ask(
              keeper, replyTo -> new Find(response, replyTo), TIMEOUT, timer)
          .whenComplete((found, failure) -> {
            if (failure == null && found.location() != null) {
              first.complete(found.location());
            } else if (outstanding.decrementAndGet() == 0) {
              first.complete(null);
            }
          });
    }
    return first.completeOnTimeout(null, 2 * TIMEOUT.toMillis(), TimeUnit.MILLISECONDS).join();
  }

  /** The other nodes in the order in which they remember a response: all nodes agree on it (rendezvous hashing). */
  private List<ActorRef<ResponseMessage>> byRank(String response, int most) {
    List<ActorRef<ResponseMessage>> all = others;
    return all.isEmpty() ? all
        : all.stream()
            .sorted(Comparator.comparingLong(keeper -> weight(response, keeper)))
            .limit(most)
            .toList();
  }

  private static long weight(String response, ActorRef<ResponseMessage> keeper) {
    long mixed = (31L * response.hashCode() + keeper.path().address().hashCode()) * 0x9E3779B97F4A7C15L;
    return (mixed ^ mixed >>> 32) * 0xD6E8FEB86659FD93L;
  }
}
