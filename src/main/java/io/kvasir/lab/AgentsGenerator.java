package io.kvasir.lab;

import java.util.List;
import java.util.SplittableRandom;

/**
 * A workload of agents: long sessions of many short steps. A step's prompt is the whole session so far and a tool's
 * {@code result}, so that some 95 % of the tokens were sent before. Sessions start as a Poisson process,
 * {@code rate} per second times the scale, under one of {@code kinds} system prompts; a step follows the answer before
 * it after {@code think} ms on average.
 */
final class AgentsGenerator extends TraceGenerator {
  private final int sessions;
  private final double rate;
  private final int kinds;
  private final ConversationShape shape;

  AgentsGenerator(GeneratorParameters parameters) {
    super(parameters, 64);
    this.sessions = parameters.integer("sessions", 240, 1);
    this.rate = parameters.number("rate", 0.4, 1e-6);
    this.kinds = parameters.integer("kinds", 8, 1);
    this.shape =
        new ConversationShape(
            parameters.integer("turns", 40, 1),
            parameters.integer("system", 4000, 1),
            parameters.integer("result", 1200, 1),
            parameters.integer("output", 250, 1),
            parameters.number("think", 2000, 0),
            blockSize());
  }

  @Override
  void generate(double scale, SplittableRandom random, List<LabRequest> requests) {
    double startMs = 0;
    for (int session = 0; session < sessions; session++) {
      startMs += Chains.exponential(random, 1e3 / (rate * scale));
      Conversation steps = new Conversation(shape, session, random.nextInt(kinds), random);
      steps.append(requests, LabRequest.NO_PARENT, startMs, random);
    }
  }
}
