package io.kvasir.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * People who talk with a model at the same time, each for some turns, all under one system prompt: the
 * experiment of the Go llm-router. A closed loop: a turn's prompt is the whole conversation and a new question,
 * and comes some time after the answer before it. The scale multiplies {@code sessions}; {@code repeat} rounds
 * of them follow one another.
 */
final class SessionsGenerator implements TraceSource {
  private final String name;
  private final int sessions;
  private final int turns;
  private final int system;
  private final int question;
  private final int output;
  private final double thinkMs;
  private final int repeat;
  private final int block;

  SessionsGenerator(GeneratorParameters parameters) {
    this.name = parameters.name();
    this.sessions = parameters.integer("sessions", 4, 1);
    this.turns = parameters.integer("turns", 8, 1);
    this.system = parameters.integer("system", 1500, 1);
    this.question = parameters.integer("question", 200, 1);
    this.output = parameters.integer("output", 200, 1);
    this.thinkMs = parameters.number("think", 500, 0);
    this.repeat = parameters.integer("repeat", 10, 1);
    this.block = parameters.integer("block", 16, 1);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public WorkloadTrace at(double scale, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<LabRequest> requests = new ArrayList<>();
    int concurrent = Math.max(1, (int) Math.round(sessions * scale));
    for (int person = 0; person < concurrent; person++) {
      int before = LabRequest.NO_PARENT;
      for (int round = 0; round < repeat; round++) {
        int session = person * repeat + round;
        Conversation talk = new Conversation(session, system, 0, turns, question, output, block, random);
        before = talk.append(requests, before, random.nextDouble() * 2000, thinkMs, random);
      }
    }
    return new WorkloadTrace(block, requests);
  }
}
