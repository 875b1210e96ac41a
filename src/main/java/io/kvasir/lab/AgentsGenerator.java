package io.kvasir.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Agents at work: long sessions of many short steps, each step's prompt being all that went before and a
 * tool's result, so that some 95 % of what is sent has been sent before. Sessions begin at random,
 * {@code rate} per second times the scale, under one of {@code kinds} system prompts; within one a step waits for
 * the answer before it and for its tool ({@code think} ms).
 */
final class AgentsGenerator implements TraceSource {
  private final String name;
  private final int sessions;
  private final double rate;
  private final int turns;
  private final int kinds;
  private final int system;
  private final int result;
  private final int output;
  private final double thinkMs;
  private final int block;

  AgentsGenerator(GeneratorParameters parameters) {
    this.name = parameters.name();
    this.sessions = parameters.integer("sessions", 240, 1);
    this.rate = parameters.number("rate", 0.4, 1e-6);
    this.turns = parameters.integer("turns", 40, 1);
    this.kinds = parameters.integer("kinds", 8, 1);
    this.system = parameters.integer("system", 4000, 1);
    this.result = parameters.integer("result", 1200, 1);
    this.output = parameters.integer("output", 250, 1);
    this.thinkMs = parameters.number("think", 2000, 0);
    this.block = parameters.integer("block", 64, 1);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public WorkloadTrace at(double scale, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<LabRequest> requests = new ArrayList<>();
    double startMs = 0;
    for (int session = 0; session < sessions; session++) {
      startMs += Chains.exponential(random, 1e3 / (rate * scale));
      Conversation work =
          new Conversation(session, system, random.nextInt(kinds), turns, result, output, block, random);
      work.append(requests, LabRequest.NO_PARENT, startMs, thinkMs, random);
    }
    return new WorkloadTrace(block, requests);
  }
}
