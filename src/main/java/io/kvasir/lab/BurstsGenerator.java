package io.kvasir.lab;

import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A workload of steady traffic with bursts. The background is {@code rate} requests per second, each with one of
 * {@code groups} prefixes that make up half of its {@code prompt} tokens. Every {@code every} seconds on average,
 * {@code size} requests arrive within {@code spread} milliseconds that share a new prefix of {@code prefix} tokens: a
 * batch job, or a page that becomes popular. The scale multiplies the background's rate and the bursts' number.
 */
final class BurstsGenerator extends TraceGenerator {
  private final double seconds;
  private final double rate;
  private final int groups;
  private final int prompt;
  private final double every;
  private final int size;
  private final int prefix;
  private final int own;
  private final double spreadMs;
  private final int output;

  BurstsGenerator(GeneratorParameters parameters) {
    super(parameters, 16);
    this.seconds = parameters.number("seconds", 600, 1);
    this.rate = parameters.number("rate", 12, 1e-6);
    this.groups = parameters.integer("groups", 100, 1);
    this.prompt = parameters.integer("prompt", 4000, 2);
    this.every = parameters.number("every", 10, 1e-3);
    this.size = parameters.integer("size", 60, 1);
    this.prefix = parameters.integer("prefix", 8000, 1);
    this.own = parameters.integer("own", 400, 1);
    this.spreadMs = parameters.number("spread", 500, 0);
    this.output = parameters.integer("output", 200, 1);
  }

  @Override
  void generate(double scale, SplittableRandom random, List<LabRequest> requests) {
    double endMs = seconds * 1e3;
    int number = 0;
    for (double at = 0; at < endMs; at += Chains.exponential(random, 1e3 / (rate * scale))) {
      requests.add(request(at, prompt / 2, prompt / 2, random.nextInt(groups), number++, random));
    }
    int burst = groups;
    for (double at = 0; at < endMs; at += Chains.exponential(random, every * 1e3 / scale)) {
      for (int i = 0; i < size; i++) {
        requests.add(request(at + random.nextDouble() * spreadMs, prefix, own, burst, number++, random));
      }
      burst++;
    }
    requests.sort(Comparator.comparingDouble(LabRequest::arrivalMs));
  }

  private LabRequest request(double atMs, int shared, int rest, int group, int number, SplittableRandom random) {
    int tokens = shared + Chains.around(random, rest);
    return LabRequest.at(
        atMs, tokens, Chains.around(random, output), Chains.of(tokens, blockSize(), shared, group, number), "");
  }
}
