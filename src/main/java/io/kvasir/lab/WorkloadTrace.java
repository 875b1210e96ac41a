package io.kvasir.lab;

import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * A trace: requests in the order in which they are sent.
 *
 * @param blockSize tokens in a block of the requests' chains
 */
record WorkloadTrace(int blockSize, List<LabRequest> requests) {
  WorkloadTrace {
    requests = List.copyOf(requests);
  }

  /** The share of all prompt tokens that a single unlimited cache would serve, with the requests in order. */
  double ceiling() {
    return ceiling(IntStream.range(0, requests.size()).toArray(), _ -> true);
  }

  /**
   * The share of the prompt tokens of some requests that a single unlimited cache would serve.
   *
   * @param order the requests that came, in this order
   * @param counted those whose prompts count; the others only fill the cache
   */
  double ceiling(int[] order, IntPredicate counted) {
    KnownPrefixes seen = new KnownPrefixes();
    long prompts = 0;
    long hits = 0;
    for (int index : order) {
      LabRequest request = requests.get(index);
      BlockHashes chain = request.chain();
      int max = Math.min(chain.length(), (request.promptTokens() - 1) / blockSize);
      int known = Math.min(chain.length(), (request.promptTokens() + request.outputTokens()) / blockSize);
      int depth = Math.min(max, seen.add(chain, known));
      if (counted.test(index)) {
        prompts += request.promptTokens();
        hits += (long) depth * blockSize;
      }
    }
    return prompts == 0 ? 0 : (double) hits / prompts;
  }

  /** The number of full blocks of a request's prompt, without those of the answer. */
  int promptBlocks(LabRequest request) {
    return Math.min(request.chain().length(), request.promptTokens() / blockSize);
  }
}
