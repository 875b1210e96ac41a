package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.PeerSocket;
import io.kvasir.doctor.exam.SourceExam;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EventPublishing;
import io.kvasir.events.EventFeed;
import java.util.List;
import java.util.stream.Collectors;

/** Whether the router takes events from where, and in the way in which, the engine publishes them. */
final class EventTransportCheck extends EngineCheck {
  private static final String WHY = "The router never learns what the engine's cache holds.";

  EventTransportCheck() {
    super("event-transport", "Does the router take cache events from where the engine publishes them?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    List<EventFeed> feeds = engine.target().events();
    if (feeds != null && examineFeeds(engine, told, feeds, found)) {
      return;
    }
    for (SourceExam source : engine.sources()) {
      examineSocket(engine, source, found);
    }
  }

  /** Compares the configuration with what the engine told; returns whether that explains all. */
  private static boolean examineFeeds(
      EngineExam engine, EngineDescription told, List<EventFeed> feeds, FindingCollector found) {
    if (told.events() instanceof EventPublishing.Off && !feeds.isEmpty()) {
      found.error(engine.target(), "it publishes no cache events", WHY,
          "Start the engine with --kv-events-config '{\"enable_kv_cache_events\":true,\"publisher\":\"zmq\","
              + "\"endpoint\":\"tcp://*:5557\",\"replay_endpoint\":\"tcp://*:5657\"}'.");
      return true;
    }
    if (!(told.events() instanceof EventPublishing.Zmq published)) {
      return false;
    }
    List<EventFeed.Zmq> zmq =
        feeds.stream().filter(EventFeed.Zmq.class::isInstance).map(EventFeed.Zmq.class::cast).toList();
    if (feeds.isEmpty()) {
      found.warning(engine.target(), "it publishes cache events, and the router does not take them",
          "The router predicts what the cache holds instead of knowing it.", line(published));
      return true;
    }
    if (zmq.isEmpty() && feeds.stream().anyMatch(feed -> feed instanceof EventFeed.Push)) {
      found.warning(engine.target(), "it publishes by ZMQ at " + published.endpoint() + ", and the router waits for"
              + " pushes", "Without a sidecar that passes the events on the router never learns what the cache holds.",
          "See that one does; or: " + line(published));
      return true;
    }
    if (zmq.isEmpty()) {
      if (!feeds.stream().allMatch(feed -> feed instanceof EventFeed.TensorRt)) {
        // What is passed on to elsewhere is examined where it comes out.
        return true;
      }
      found.error(engine.target(), "the wrong transport: it publishes by ZMQ at " + published.endpoint()
          + ", the router waits elsewhere", WHY, line(published));
      return true;
    }
    if (published.connects() != zmq.getFirst().bind()) {
      String endpoint = published.endpoint();
      found.error(engine.target(), published.connects()
              ? "the wrong transport: it connects to " + endpoint + ", where the router does not listen"
              : "the wrong transport: it listens at " + endpoint + ", and the router waits for a connection",
          WHY, published.connects()
              ? "Start the engine with an endpoint that has a *, such as tcp://*:5557, or set events.bind = true and"
                  + " endpoint = \"tcp://*:5557\"."
              : line(published));
      return true;
    }
    return false;
  }

  private static void examineSocket(EngineExam engine, SourceExam source, FindingCollector found) {
    PeerSocket socket = source.socket();
    String where = source.endpoint() + " of rank " + source.rank();
    switch (socket.state()) {
      case REFUSED ->
          found.error(engine.target(), "nothing listens at " + where, WHY,
              "Start the engine with --kv-events-config and an endpoint that it binds, such as tcp://*:5557"
                  + " (it connects to tcp://0.0.0.0:5557, the wrong transport), open the port to the router, or correct"
                  + " events.endpoint.");
      case NOT_ZMQ ->
          found.error(engine.target(), "the wrong transport: what listens at " + where + " is no ZMQ socket", WHY,
              "Set events.endpoint to the endpoint of the engine's --kv-events-config; its HTTP port is another.");
      case OPEN -> {
        if (!socket.isPublisher()) {
          found.error(engine.target(), "the wrong transport: at " + where + " is a " + socket.type()
                  + " socket, which publishes nothing", WHY,
              socket.type().equals("ROUTER")
                  ? "That is where replays are asked for: exchange events.endpoint and events.replay."
                  : "Set events.endpoint to the endpoint of the engine's --kv-events-config.");
        }
      }
    }
  }

  private static String line(EventPublishing.Zmq published) {
    return "Set events { source = zmq, endpoint = \"" + published.endpoint() + "\""
        + (published.replay() == null ? "" : ", replay = \"" + published.replay() + "\"")
        + (published.topic().isEmpty() ? "" : ", topic = \"" + published.topic() + "\"")
        + published.otherRanks().stream()
            .map(EventTransportCheck::element)
            .collect(Collectors.collectingAndThen(
                Collectors.joining(", "), others -> others.isEmpty() ? "" : ", other-ranks = [" + others + "]"))
        + " } of the pod.";
  }

  private static String element(EventPublishing.RankSockets rank) {
    return "{ endpoint = \"" + rank.endpoint() + "\""
        + (rank.replay() == null ? "" : ", replay = \"" + rank.replay() + "\"") + " }";
  }
}
