package io.kvasir.lab;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Calm traffic and bursts into it. In the background, {@code rate} requests per second, of {@code groups} with a
 * shared prefix of {@code prompt} tokens half; every {@code every} seconds on average, {@code size} requests
 * within {@code spread} milliseconds that all begin with the same {@code prefix} tokens nobody has seen: a job
 * that fans out, a page that goes round. The scale multiplies the background's rate and the bursts' number.
 */
final class BurstsGenerator implements TraceSource {
  private final String name;
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
  private final int block;

  BurstsGenerator(GeneratorParameters parameters) {
    this.name = parameters.name();
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
    return new WorkloadTrace(block, requests);
  }

  private LabRequest request(double atMs, int shared, int rest, int group, int number, SplittableRandom random) {
    int tokens = shared + Chains.around(random, rest);
    return LabRequest.at(
        atMs, tokens, Chains.around(random, output), Chains.of(tokens, block, shared, group, number), "");
  }
}
