package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.EventsSeen;
import io.kvasir.doctor.exam.ProbeExam;
import io.kvasir.doctor.exam.SourceExam;
import io.kvasir.engines.EngineDescription;

/** Whether the events of an engine come, and can be read. */
final class EventsCheck extends EngineCheck {
  EventsCheck() {
    super("events", "Do the events of a request come, and can they be read?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    for (SourceExam source : engine.sources()) {
      examine(engine, source.seen(), "of rank %d at %s".formatted(source.rank(), source.endpoint()), found);
    }
    engine.feeds().forEach(feed -> examine(engine, feed.seen(), "of " + feed.place(), found));
    ProbeExam probe = engine.probe();
    if (probe == null || probe.events() == null || Boolean.FALSE.equals(told.cache().prefixCaching())) {
      return;
    }
    EventsSeen seen = engine.seen().getFirst();
    // What comes of other feeds, and nothing has, is told by another check.
    boolean heard = engine.feeds().isEmpty() || seen.messages() > 0;
    if (heard && seen.faulty() == 0 && probe.events().published() < probe.blocks()) {
      found.error(
          engine.target(), "of a request's " + probe.blocks() + " blocks its events told " + probe.events().published(),
          "The router does not learn what the engine's cache holds.",
          "Start the engine with --kv-events-config '{\"enable_kv_cache_events\":true,\"publisher\":\"zmq\",…}'"
              + " (SGLang has no enable_kv_cache_events), and check that the endpoint is this engine's.");
    }
  }

  private static void examine(EngineExam engine, EventsSeen seen, String where, FindingCollector found) {
    if (seen.faulty() > 0) {
      found.error(
          engine.target(),
          "%d of %d messages %s cannot be read: %s".formatted(seen.faulty(), seen.messages(), where, seen.fault()),
          "What they told of the cache is lost, and the router drops what it knows of it.",
          "Does the endpoint belong to this engine's events? If so, update the router: the engine's format is newer"
              + " than it.");
    }
  }
}
