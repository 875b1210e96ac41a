package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.SourceExam;
import io.kvasir.engines.EngineDescription;

/** Whether the router subscribes to the topic that an engine publishes under. */
final class TopicCheck extends EngineCheck {
  TopicCheck() {
    super("topic", "Does the router subscribe to the topic that the engine publishes under?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    for (SourceExam source : engine.sources()) {
      if (!source.seen().topics().isEmpty()
          && source.seen().topics().stream().noneMatch(topic -> topic.startsWith(source.topic()))) {
        String theirs = source.seen().topics().iterator().next();
        found.error(
            engine.target(),
            "it publishes under the topic \"%s\", the router subscribes to \"%s\"".formatted(theirs, source.topic()),
            "ZMQ gives the router none of its messages, and says nothing of it.",
            "Set events.topic = \"" + theirs + "\" of the pod, or topic in the engine's --kv-events-config.");
        return;
      }
    }
  }
}
