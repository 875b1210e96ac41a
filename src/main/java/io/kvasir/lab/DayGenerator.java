package io.kvasir.lab;

import java.util.List;
import java.util.SplittableRandom;

/**
 * A day of traffic: requests come at random at a rate that goes from {@code low} per second, at the beginning and the
 * end, up to {@code high} in the middle, as a cosine. Each has one of {@code groups} prefixes that make up half of its
 * {@code prompt} tokens. {@code hours} makes the day shorter, which makes its slopes steeper. The scale multiplies the
 * rate.
 */
final class DayGenerator extends TraceGenerator {
  private final double hours;
  private final double low;
  private final double high;
  private final int groups;
  private final int prompt;
  private final int output;

  DayGenerator(GeneratorParameters parameters) {
    super(parameters, 64);
    this.hours = parameters.number("hours", 24, 1e-3);
    this.low = parameters.number("low", 1, 1e-6);
    this.high = parameters.number("high", 8, 1e-6);
    this.groups = parameters.integer("groups", 100, 1);
    this.prompt = parameters.integer("prompt", 8000, 2);
    this.output = parameters.integer("output", 200, 1);
  }

  @Override
  void generate(double scale, SplittableRandom random, List<LabRequest> requests) {
    double endMs = hours * 3.6e6;
    double highest = Math.max(low, high) * scale;
    int number = groups;
    for (double at = 0; at < endMs; at += Chains.exponential(random, 1e3 / highest)) {
      double rate = scale * (low + (high - low) * (1 - Math.cos(2 * Math.PI * at / endMs)) / 2);
      if (random.nextDouble() * highest < rate) {
        int tokens = prompt / 2 + Chains.around(random, prompt - prompt / 2);
        BlockHashes chain = Chains.of(tokens, blockSize(), prompt / 2, random.nextInt(groups), number++);
        requests.add(LabRequest.at(at, tokens, Chains.around(random, output), chain, ""));
      }
    }
  }
}
