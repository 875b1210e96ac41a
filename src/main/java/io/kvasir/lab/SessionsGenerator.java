package io.kvasir.lab;

import java.util.List;
import java.util.SplittableRandom;

/**
 * A workload of {@code sessions} concurrent chat users, each with several turns under one shared system prompt: the
 * experiment of the Go llm-router. A closed loop: a turn's prompt is the whole conversation and a new question, sent
 * {@code think} ms on average after the answer before it. The scale multiplies {@code sessions}; each user has
 * {@code repeat} conversations, one after the other.
 */
final class SessionsGenerator extends TraceGenerator {
  private final int sessions;
  private final int repeat;
  private final ConversationShape shape;

  SessionsGenerator(GeneratorParameters parameters) {
    super(parameters, 16);
    this.sessions = parameters.integer("sessions", 4, 1);
    this.repeat = parameters.integer("repeat", 10, 1);
    this.shape =
        new ConversationShape(
            parameters.integer("turns", 8, 1),
            parameters.integer("system", 1500, 1),
            parameters.integer("question", 200, 1),
            parameters.integer("output", 200, 1),
            parameters.number("think", 500, 0),
            blockSize());
  }

  @Override
  void generate(double scale, SplittableRandom random, List<LabRequest> requests) {
    int users = Math.max(1, (int) Math.round(sessions * scale));
    for (int user = 0; user < users; user++) {
      int last = LabRequest.NO_PARENT;
      for (int round = 0; round < repeat; round++) {
        Conversation talk = new Conversation(shape, user * repeat + round, 0, random);
        last = talk.append(requests, last, random.nextDouble() * 2000, random);
      }
    }
  }
}
