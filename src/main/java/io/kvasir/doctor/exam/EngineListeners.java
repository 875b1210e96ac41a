package io.kvasir.doctor.exam;

import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EventPublishing;
import io.kvasir.events.EventFeed;
import io.kvasir.events.FeedTrial;
import io.kvasir.events.KvEvent;
import io.kvasir.events.SnapshotFormat;
import io.kvasir.events.WorkerAddress;
import io.kvasir.events.ZmqEndpoints;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Listens to the events of all ranks of an engine, wherever the router takes them from, or else the engine says that it
 * publishes them. One thread at a time.
 */
final class EngineListeners implements AutoCloseable {
  private static final String TCP = "tcp://";
  private static final Duration SUBSCRIBING = Duration.ofMillis(100);

  private final EngineTarget target;
  private final Duration timeout;
  private final Consumer<KvEvent> onFirstRank;
  private final List<RankSocket> sockets = new ArrayList<>();
  private final List<DialledSocket> dialled = new ArrayList<>();
  private final List<FeedListener> feeds = new ArrayList<>();
  private long connectedNanos;

  /** A socket of one rank, what listens there, and what is heard, null when that is no publisher. */
  private record RankSocket(int rank, ZmqEndpoints endpoints, PeerSocket socket, @Nullable EventListener listener) {}

  /** A socket that the engine dials. */
  private record DialledSocket(int rank, ZmqEndpoints endpoints, EventListener listener) {}

  /**
   * Begins to listen.
   *
   * @param timeout for a socket to show itself
   * @param onFirstRank takes the events of the first rank, on a listener's thread
   */
  EngineListeners(
      EngineTarget target, EngineDescription told, Duration timeout, Consumer<KvEvent> onFirstRank) {
    this.target = target;
    this.timeout = timeout;
    this.onFirstRank = onFirstRank;
    listenToSockets(told);
    listenToFeeds();
  }

  private void listenToSockets(EngineDescription told) {
    EventFeed.Zmq feed = zmqFeed(told);
    if (feed == null || !feed.endpoint().startsWith(TCP)) {
      return;
    }
    for (int rank = 0; rank < target.ranks(); rank++) {
      ZmqEndpoints own = feed.endpoints(address(rank));
      if (feed.bind()) {
        dialled.add(new DialledSocket(rank, own, new EventListener(own.endpoint(), true, consumer(rank))));
      } else {
        PeerSocket socket = ZmtpPeer.at(own.endpoint(), "SUB", timeout);
        EventListener listener =
            socket.isPublisher() ? new EventListener(own.endpoint(), false, consumer(rank)) : null;
        sockets.add(new RankSocket(rank, own, socket, listener));
      }
    }
  }

  private EventFeed.@Nullable Zmq zmqFeed(EngineDescription told) {
    List<EventFeed> configured = target.events();
    if (configured != null) {
      return configured.stream()
          .filter(EventFeed.Zmq.class::isInstance)
          .map(EventFeed.Zmq.class::cast)
          .findFirst()
          .orElse(null);
    }
    return told.events() instanceof EventPublishing.Zmq zmq && !zmq.connects()
        ? new EventFeed.Zmq(
            zmq.endpoint(), zmq.replay(), zmq.topic(), false, false, false, otherRanks(zmq), SnapshotFormat.NONE)
        : null;
  }

  private List<EventFeed.RankSockets> otherRanks(EventPublishing.Zmq zmq) {
    // The ranks are the configuration's; those that the engine tells of may be others.
    return zmq.otherRanks().size() == target.ranks() - 1
        ? zmq.otherRanks().stream().map(own -> new EventFeed.RankSockets(own.endpoint(), own.replay())).toList()
        : List.of();
  }

  private void listenToFeeds() {
    List<EventFeed> configured = target.events();
    for (EventFeed feed : configured == null ? List.<EventFeed>of() : configured) {
      for (int rank = 0; rank < target.ranks(); rank++) {
        FeedTrial trial = feed.trial(address(rank));
        if (trial != null) {
          feeds.add(new FeedListener(feed, rank, trial, consumer(rank)));
        }
      }
    }
  }

  private WorkerAddress address(int rank) {
    String id = target.ranks() == 1 ? target.pod() : target.pod() + "#" + rank;
    return new WorkerAddress(id, target.pod(), target.url(), rank, target.ranks());
  }

  private Consumer<KvEvent> consumer(int rank) {
    return rank == 0 ? onFirstRank : _ -> { };
  }

  /** Waits until what listens is connected. */
  void awaitConnected() throws InterruptedException {
    for (RankListener listener : all().toList()) {
      boolean _ = listener.awaitConnected(timeout);
    }
    connectedNanos = System.nanoTime();
  }

  /**
   * Waits until subscriptions have had the time to arrive, which nobody tells; one that takes longer costs another
   * request.
   */
  void awaitSubscribed() throws InterruptedException {
    if (!sockets.isEmpty() || !dialled.isEmpty()) {
      TimeUnit.NANOSECONDS.sleep(SUBSCRIBING.toNanos() - (System.nanoTime() - connectedNanos));
    }
  }

  /** Whether the first rank is listened to. */
  boolean listensToFirstRank() {
    return firstRank().findAny().isPresent();
  }

  /** Whether anything has come of the first rank. */
  boolean firstRankPublished() {
    return firstRank().anyMatch(listener -> listener.seen().messages() > 0);
  }

  private Stream<RankListener> firstRank() {
    return Stream.of(
            sockets.stream().filter(socket -> socket.rank == 0).map(RankSocket::listener),
            dialled.stream().filter(socket -> socket.rank == 0 && socket.listener.isConnected())
                .map(DialledSocket::listener),
            feeds.stream().filter(feed -> feed.exam().rank() == 0 && feed.exam().failure() == null))
        .flatMap(listeners -> listeners)
        .filter(Objects::nonNull)
        .map(RankListener.class::cast);
  }

  private Stream<RankListener> all() {
    return Stream.of(
            sockets.stream().map(RankSocket::listener), dialled.stream().map(DialledSocket::listener), feeds.stream())
        .flatMap(listeners -> listeners)
        .filter(Objects::nonNull)
        .map(RankListener.class::cast);
  }

  /** What was found at sockets that the router connects to; asks each for a replay, and for a snapshot if it should. */
  List<SourceExam> sources() {
    return sockets.stream().map(this::source).toList();
  }

  private SourceExam source(RankSocket rank) {
    EventListener listener = rank.listener;
    String replay = rank.endpoints.replay();
    ReplayExam replayed =
        replay == null || !replay.startsWith(TCP)
            ? null
            : ReplayRequest.send(
                replay, ZmtpPeer.at(replay, "DEALER", timeout), listener == null ? -1 : listener.lastSequence(),
                timeout);
    SnapshotExam snapshot =
        replayed == null || !replayed.socket().isReplay() || rank.endpoints.snapshots() == null
            ? null
            : SnapshotRequest.send(rank.endpoints.snapshots(), rank.endpoints.snapshot(), timeout);
    return new SourceExam(
        rank.rank, rank.endpoints.endpoint(), rank.endpoints.topic(), rank.socket,
        listener == null ? EventsSeen.NONE : listener.seen(), replayed, snapshot);
  }

  /** What was found of the other feeds, but for sockets to be dialled whose port a router has here. */
  List<FeedExam> feeds() {
    return Stream.concat(
            dialled.stream().filter(socket -> !socket.listener.isOccupied()).map(EngineListeners::exam),
            feeds.stream().map(FeedListener::exam))
        .toList();
  }

  private static FeedExam exam(DialledSocket socket) {
    return new FeedExam(
        "zmq", socket.rank, socket.endpoints.endpoint(), socket.listener.isConnected() ? null : "nobody dials it", -1,
        socket.listener.seen());
  }

  @Override
  public void close() {
    all().forEach(RankListener::close);
  }
}
