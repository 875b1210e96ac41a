package io.kvasir.lab;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A workload of prompts in groups that share a prefix, such as a document or a system prompt: llm-d's benchmark.
 * Arrivals are Poisson at a constant {@code rate} (requests per second), or without one, on llm-d's ladder from 3 to 60
 * requests per second in 16 steps of {@code seconds}. {@code skew} is the exponent of a Zipf distribution over
 * the groups: 0 gives all the same share, 1 and more makes a few of them hot.
 */
final class SharedPrefixGenerator extends TraceGenerator {
  /** More would need more memory than there is. */
  private static final int MOST_PROMPTS = 10_000_000;

  private static final double[] LADDER = {3, 10, 15, 20, 22, 25, 30, 35, 40, 43, 46, 49, 52, 55, 57, 60};

  private final int groups;
  private final int prompts;
  private final int prefix;
  private final int question;
  private final int output;
  private final double rate;
  private final double seconds;
  private final double skew;

  SharedPrefixGenerator(GeneratorParameters parameters) {
    super(parameters, 16);
    this.groups = parameters.integer("groups", 150, 1);
    this.prompts = parameters.integer("prompts", 5, 1);
    this.prefix = parameters.integer("prefix", 6000, 1);
    this.question = parameters.integer("question", 1200, 1);
    this.output = parameters.integer("output", 250, 1);
    this.rate = parameters.number("rate", 0, 0);
    this.seconds = parameters.number("seconds", 30, 1);
    this.skew = parameters.number("skew", 0, 0);
    if ((long) groups * prompts > MOST_PROMPTS) {
      parameters.fault("groups and prompts make " + (long) groups * prompts + " prompts, more than " + MOST_PROMPTS);
    }
  }

  @Override
  void generate(double scale, SplittableRandom random, List<LabRequest> requests) {
    BlockHashes[] chains = new BlockHashes[groups * prompts];
    for (int prompt = 0; prompt < chains.length; prompt++) {
      chains[prompt] = Chains.of(prefix + question, blockSize(), prefix, prompt / prompts, prompt);
    }
    double[] popularity = popularity();
    double[] rates = rate > 0 ? new double[] {rate} : LADDER;
    double fromMs = 0;
    for (double each : rates) {
      double untilMs = fromMs + seconds * 1e3;
      double gapMs = 1e3 / (each * scale);
      for (double at = fromMs + Chains.exponential(random, gapMs); at < untilMs;
          at += Chains.exponential(random, gapMs)) {
        int group = draw(popularity, random);
        BlockHashes chain = chains[group * prompts + random.nextInt(prompts)];
        requests.add(LabRequest.at(at, prefix + question, output, chain, ""));
      }
      fromMs = untilMs;
    }
    requests.sort(Comparator.comparingDouble(LabRequest::arrivalMs));
  }

  /** Cumulative shares of the groups. */
  private double[] popularity() {
    double[] cumulative = new double[groups];
    double sum = 0;
    for (int group = 0; group < groups; group++) {
      sum += Math.pow(group + 1, -skew);
      cumulative[group] = sum;
    }
    for (int group = 0; group < groups; group++) {
      cumulative[group] /= sum;
    }
    return cumulative;
  }

  private static int draw(double[] cumulative, SplittableRandom random) {
    int at = Arrays.binarySearch(cumulative, random.nextDouble());
    return Math.min(at < 0 ? ~at : at + 1, cumulative.length - 1);
  }
}
