package io.kvasir.locations;

import io.kvasir.http.CircuitBreaker;
import io.kvasir.locations.LocationMessage.Find;
import io.kvasir.locations.LocationMessage.Found;
import io.kvasir.locations.LocationMessage.Remember;
import io.kvasir.telemetry.LineRate;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
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
 * What nodes remember for each other of one kind: where something is, by its name. The node that has learnt it
 * remembers it, and two others do, chosen by the name (rendezvous hashing): all nodes know whom to ask. So a look-up
 * costs three messages, whether anybody knows the name or not. After nodes have come, those that know may be others:
 * then the rest can be asked, too, but only so many times a second, for names may be invented. A node that does not
 * answer is left out for a while. Thread-safe; its actor ends with the system.
 */
final class SharedLocations {
  /** Names that a node remembers: some 20 MB. */
  private static final int LIMIT = 100_000;

  /** Other nodes that remember a name, besides the one that has learnt it. */
  private static final int COPIES = 2;

  /** Nodes that should know a name, for who looks it up: those that were told, and the one that has learnt it. */
  private static final int KNOWING = COPIES + 1;

  /** Characters of a name that is remembered; no engine has longer ones, but a request may. */
  private static final int MAX_NAME = 256;

  /** Other nodes that are asked for a name, or told of a move, at most. */
  private static final int MOST_QUERIED = 16;

  private static final CircuitBreaker.Settings BREAKER = CircuitBreaker.Settings.of(1, Duration.ofSeconds(5));

  /** Who knew a name. */
  enum KnownBy {
    LOCAL,
    PEER,
    UNKNOWN,
    /** None of those that should know; the others were not asked, for too many look-ups were of that kind. */
    UNQUERIED;

    /** Its name in metrics. */
    String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** What a look-up has found; no location where nobody knew. */
  record Lookup(KnownBy knownBy, @Nullable WorkerLocation location) {}

  /**
   * The limits of a kind.
   *
   * @param timeout how long a look-up waits for those that should know, and for the others
   * @param wide look-ups a second that ask more nodes than should know
   */
  record Limits(Duration timeout, int wide) {}

  /** Another node's keeper, and whether it answers. */
  private record Peer(ActorRef<LocationMessage> keeper, CircuitBreaker breaker) {}

  private final @Nullable Scheduler scheduler;
  private final Limits limits;
  private final NanoClock clock = NanoClock.SYSTEM;
  private final LineRate wide;
  private final LocationTable known = new LocationTable(LIMIT);
  private volatile List<Peer> others = List.of();
  /** When the others have changed last. */
  private volatile long changedNanos = clock.nanos();

  private SharedLocations(@Nullable Scheduler scheduler, Limits limits) {
    this.scheduler = scheduler;
    this.limits = limits;
    this.wide = new LineRate(limits.wide(), clock);
  }

  /** Those of a node without others. */
  static SharedLocations alone() {
    return new SharedLocations(null, new Limits(Duration.ZERO, 0));
  }

  /**
   * Those of a node among others. Once for each actor system and kind.
   *
   * @param kind name of the actor, and of the key by which those of the nodes find each other
   */
  static SharedLocations start(ActorSystem<?> system, String kind, Limits limits) {
    SharedLocations started = new SharedLocations(system.scheduler(), limits);
    system.systemActorOf(LocationKeeper.create(kind, started.known, started::setOthers), kind, Props.empty());
    return started;
  }

  private void setOthers(Collection<ActorRef<LocationMessage>> keepers) {
    Map<ActorRef<LocationMessage>, CircuitBreaker> breakers = new HashMap<>();
    others.forEach(peer -> breakers.put(peer.keeper(), peer.breaker()));
    others =
        keepers.stream()
            .map(keeper -> {
              CircuitBreaker breaker = breakers.get(keeper);
              return new Peer(keeper, breaker == null ? new CircuitBreaker(BREAKER, clock) : breaker);
            })
            .toList();
    changedNanos = clock.nanos();
  }

  /** Whether nodes have come or left so recently that names are not yet remembered by those that should. */
  boolean changedWithin(Duration time) {
    return clock.nanos() - changedNanos < time.toNanos();
  }

  /** How many other nodes remember names, too. */
  int nodes() {
    return others.size();
  }

  /**
   * Remembers where something is, here and on two other nodes; where it has moved, on more, for each may have
   * remembered where it was. Does not wait for them.
   */
  void remember(String name, WorkerLocation location) {
    if (name.length() > MAX_NAME) {
      return;
    }
    WorkerLocation before = known.get(name);
    known.put(name, location);
    boolean moved = before != null && !before.equals(location);
    for (Peer peer : byRank(name, moved ? MOST_QUERIED : COPIES)) {
      peer.keeper().tell(new Remember(name, location));
    }
  }

  /** What this node itself knows of a name; null when it knows nothing. */
  @Nullable WorkerLocation local(String name) {
    return known.get(name);
  }

  /** Looks a name up. Waits for other nodes, twice the timeout at most. */
  Lookup find(String name) {
    WorkerLocation here = known.get(name);
    if (here != null) {
      return new Lookup(KnownBy.LOCAL, here);
    }
    if (name.length() > MAX_NAME || others.isEmpty()) {
      return new Lookup(KnownBy.UNKNOWN, null);
    }
    List<Peer> ranked = byRank(name, MOST_QUERIED);
    int knowing = Math.min(KNOWING, ranked.size());
    WorkerLocation there = query(name, ranked.subList(0, knowing));
    if (there != null) {
      known.put(name, there);
      return new Lookup(KnownBy.PEER, there);
    }
    if (knowing == ranked.size() || limits.wide() == 0) {
      return new Lookup(KnownBy.UNKNOWN, null);
    }
    if (wide.take() < 0) {
      return new Lookup(KnownBy.UNQUERIED, null);
    }
    there = query(name, ranked.subList(knowing, ranked.size()));
    if (there == null) {
      return new Lookup(KnownBy.UNKNOWN, null);
    }
    // From now on those that should know do.
    remember(name, there);
    return new Lookup(KnownBy.PEER, there);
  }

  private @Nullable WorkerLocation query(String name, List<Peer> ranked) {
    List<Peer> queried = ranked.stream().filter(peer -> peer.breaker().tryAcquire()).toList();
    Scheduler timer = scheduler;
    if (queried.isEmpty() || timer == null) {
      return null;
    }
    CompletableFuture<@Nullable WorkerLocation> first = new CompletableFuture<>();
    AtomicInteger outstanding = new AtomicInteger(queried.size());
    for (Peer peer : queried) {
      CompletableFuture<Found> _ = answer(peer, name, timer).whenComplete((found, failure) -> {
        boolean _ = failure == null ? peer.breaker().onSuccess() : peer.breaker().onFailure("no answer");
        if (failure == null && found.location() != null) {
          first.complete(found.location());
        } else if (outstanding.decrementAndGet() == 0) {
          first.complete(null);
        }
      });
    }
    return first.join();
  }

  /** The system's timer may be late where cores are busy: who has not answered by twice the timeout never will. */
  private CompletableFuture<Found> answer(Peer peer, String name, Scheduler timer) {
    return AskPattern.<LocationMessage, Found>ask(
            peer.keeper(), replyTo -> new Find(name, replyTo), limits.timeout(), timer)
        .toCompletableFuture()
        .copy()
        .orTimeout(2 * limits.timeout().toMillis(), TimeUnit.MILLISECONDS);
  }

  /** The other nodes in the order in which they remember a name: all nodes agree on it (rendezvous hashing). */
  private List<Peer> byRank(String name, int most) {
    List<Peer> all = others;
    return all.isEmpty() ? all
        : all.stream()
            .sorted(Comparator.comparingLong(peer -> weight(name, peer.keeper())))
            .limit(most)
            .toList();
  }

  private static long weight(String name, ActorRef<LocationMessage> keeper) {
    long mixed = (31L * name.hashCode() + keeper.path().address().hashCode()) * 0x9E3779B97F4A7C15L;
    return (mixed ^ mixed >>> 32) * 0xD6E8FEB86659FD93L;
  }
}
