package io.kvasir.http.server;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The client connections that are open, limited in all and for each client address. At a limit, connections that have
 * waited long for a request are closed in favour of a new one. An IPv6 address stands for its /64 network, which a
 * single client has for itself. Thread-safe; connections are added by one thread.
 */
final class OpenConnections implements Iterable<ClientConnection> {
  /** A connection that has waited for a request for less than this is not closed for another. */
  private static final long MIN_IDLE_NANOS = 1_000_000_000L;

  /** A search that has found no idle connection is not repeated for this long: of one network, or of all. */
  private static final long SEARCH_PAUSE_NANOS = 50_000_000L;

  /** One search closes as many of a limit, or a few, so that the next new connections need none. */
  private static final int SHARE_CLOSED = 128;

  private static final int IPV6_NETWORK_BYTES = 8;

  /** No network's address. */
  private static final ByteBuffer ALL = ByteBuffer.allocate(0);

  private final int limit;
  private final int limitPerAddress;
  private final HttpMetrics metrics;
  private final Set<ClientConnection> all = ConcurrentHashMap.newKeySet();
  private final AtomicInteger count = new AtomicInteger();
  private final ConcurrentHashMap<ByteBuffer, Integer> byNetwork = new ConcurrentHashMap<>();

  /** When a search of a network, or of {@link #ALL}, has found nothing, as far as it matters. The adding thread's. */
  private final HashMap<ByteBuffer, Long> nothingFound = new HashMap<>();

  /** None yet. */
  OpenConnections(int limit, int limitPerAddress, HttpMetrics metrics) {
    this.limit = limit;
    this.limitPerAddress = limitPerAddress;
    this.metrics = metrics;
  }

  /** How many are open. */
  int count() {
    return count.get();
  }

  /** How many wait for a request of which nothing has come. */
  int idle(long now) {
    int idle = 0;
    for (ClientConnection each : all) {
      idle += each.idleNanos(now) >= 0 ? 1 : 0;
    }
    return idle;
  }

  @Override
  public Iterator<ClientConnection> iterator() {
    return all.iterator();
  }

  /**
   * Makes room for one more connection.
   *
   * @param now nanosecond clock
   * @return why there is none; null when there is
   */
  @Nullable RequestFailure makeRoom(InetAddress client, long now) {
    ByteBuffer network = network(client);
    int ofNetwork = byNetwork.getOrDefault(network, 0);
    if (ofNetwork >= limitPerAddress
        && !closeIdle(network, limitPerAddress, now, each -> network(each.client()).equals(network))) {
      return new RequestFailure(
          503,
          "too many connections from this address: the limit is " + limitPerAddress,
          new ReachedLimit(ReachedLimit.Kind.CONNECTIONS_PER_ADDRESS, ofNetwork + 1L, limitPerAddress));
    }
    int open = count.get();
    if (open >= limit && !closeIdle(ALL, limit, now, each -> true)) {
      return new RequestFailure(
          503,
          "too many connections: the limit is " + limit,
          new ReachedLimit(ReachedLimit.Kind.CONNECTIONS, open + 1L, limit));
    }
    return null;
  }

  void add(ClientConnection connection) {
    all.add(connection);
    byNetwork.merge(network(connection.client()), 1, Integer::sum);
    metrics.openConnections(count.incrementAndGet());
  }

  /** Forgets a connection that is closed. Idempotent. */
  void remove(ClientConnection connection) {
    if (all.remove(connection)) {
      byNetwork.computeIfPresent(network(connection.client()), (network, open) -> open == 1 ? null : open - 1);
      metrics.openConnections(count.decrementAndGet());
    }
  }

  /** Closes those of a network, or of {@link #ALL}, that have waited longest; whether there were any. */
  private boolean closeIdle(ByteBuffer of, int atLimit, long now, Predicate<ClientConnection> which) {
    Long before = nothingFound.get(of);
    if (before != null && now - before < SEARCH_PAUSE_NANOS) {
      return false;
    }
    int most = Math.max(1, atLimit / SHARE_CLOSED);
    PriorityQueue<Idle> longest = new PriorityQueue<>(Comparator.comparingLong(Idle::nanos));
    for (ClientConnection each : all) {
      long idle = each.idleNanos(now);
      if (idle >= MIN_IDLE_NANOS && which.test(each)) {
        longest.add(new Idle(each, idle));
        if (longest.size() > most) {
          longest.remove();
        }
      }
    }
    boolean closed = false;
    for (Idle each : longest) {
      if (each.connection.closeUnused()) {
        metrics.connectionReclaimed();
        remove(each.connection);
        closed = true;
      }
    }
    if (!closed) {
      nothingFound.values().removeIf(at -> now - at >= SEARCH_PAUSE_NANOS);
      nothingFound.put(of, now);
    }
    return closed;
  }

  private record Idle(ClientConnection connection, long nanos) {}

  private static ByteBuffer network(InetAddress client) {
    byte[] address = client.getAddress();
    return ByteBuffer.wrap(address, 0, Math.min(address.length, IPV6_NETWORK_BYTES));
  }
}
