package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.FeedExam;
import io.kvasir.doctor.exam.ProbeExam;
import io.kvasir.engines.EngineDescription;

/** Whether events that come by NATS, Redis or gRPC, or from an engine that dials the router, do come. */
final class EventFeedsCheck extends EngineCheck {
  private static final String WHY = "The router never learns what the engine's cache holds.";

  EventFeedsCheck() {
    super("event-feeds", "Do events by NATS, Redis or gRPC, or from engines that dial the router, come?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    ProbeExam probe = engine.probe();
    boolean expected =
        probe != null && probe.failure() == null && !Boolean.FALSE.equals(told.cache().prefixCaching());
    for (FeedExam feed : engine.feeds()) {
      String failure = feed.failure();
      if (feed.kind().equals("zmq")) {
        examineDialled(engine, feed, found);
      } else if (failure != null) {
        found.error(
            engine.target(), "%s cannot be read by %s: %s".formatted(feed.place(), feed.kind(), failure), WHY,
            remedy(feed.kind()));
      } else if (expected && feed.rank() == 0 && feed.seen().messages() == 0) {
        found.error(
            engine.target(),
            "a request's events did not come to %s, by %s%s".formatted(
                feed.place(), feed.kind(), feed.kept() < 0 ? "" : ", where " + feed.kept() + " messages are kept"),
            WHY, publisherRemedy(feed.kind()));
      }
    }
  }

  private static void examineDialled(EngineExam engine, FeedExam feed, FindingCollector found) {
    if (feed.failure() != null) {
      found.warning(
          engine.target(), "the engine does not dial %s of this machine".formatted(feed.place()), WHY,
          "Start the engine with --kv-events-config '{\"enable_kv_cache_events\":true,\"publisher\":\"zmq\","
              + "\"endpoint\":\"tcp://ROUTER:PORT\"}', which is this port of the router's machine; where that is"
              + " another machine, run this there, or with --management alone.");
    }
  }

  private static String remedy(String kind) {
    return switch (kind) {
      case "nats" -> "Start nats-server with JetStream (-js), create the stream with the subject (nats stream add"
          + " --subjects), and correct events.servers, stream, subject and credentials of the pod.";
      case "redis" -> "Start Redis 7 or later, open its port to the router, and correct events.url (user, password,"
          + " database) and events.stream of the pod.";
      default -> "Start the engine's service of cache events (kvasir.events.v1.CacheEvents), open its port to the"
          + " router, and correct events.address and events.tls of the pod.";
    };
  }

  private static String publisherRemedy(String kind) {
    return switch (kind) {
      case "nats" -> "Start what publishes the engine's events there, or correct its subject, or events.subject of the"
          + " pod.";
      case "redis" -> "Start what writes the engine's events there (XADD with the field batch), or correct its key, or"
          + " events.stream of the pod.";
      default -> "Does the service at events.address belong to this engine, and does the engine publish events"
          + " (--kv-events-config)? Correct events.address of the pod.";
    };
  }
}
