package io.kvasir.lab;

import java.util.List;
import java.util.SplittableRandom;

/** One conversation of a generator: lengths of its turns and the blocks of its whole text. */
final class Conversation {
  private final String session;
  private final int[] prompts;
  private final int[] outputs;
  private final long[] chain;

  /**
   * A conversation.
   *
   * @param number tells its text from that of all others
   * @param system tokens before the first question, shared with all of the same {@code group}
   * @param question tokens each turn adds, on average
   * @param output tokens of each answer, on average
   */
  Conversation(
      int number, int system, int group, int turns, int question, int output, int block, SplittableRandom random) {
    this.session = "s" + number;
    this.prompts = new int[turns];
    this.outputs = new int[turns];
    int length = system;
    for (int turn = 0; turn < turns; turn++) {
      length += Chains.around(random, question);
      prompts[turn] = length;
      outputs[turn] = Chains.around(random, output);
      length += outputs[turn];
    }
    this.chain = Chains.of(length, block, system, group, number);
  }

  /**
   * Adds its turns, each after the one before it.
   *
   * @param after the request the first turn follows; {@link LabRequest#NO_PARENT} for one at {@code startMs}
   * @param thinkMs mean of the exponential time between an answer and the next turn
   * @return the last turn's position
   */
  int append(List<LabRequest> requests, int after, double startMs, double thinkMs, SplittableRandom random) {
    int before = after;
    for (int turn = 0; turn < prompts.length; turn++) {
      // All turns share the whole text's blocks: no engine gets beyond the end of a turn's answer, and the
      // answer's own are what the next turn finds where it was given.
      LabRequest request = LabRequest.at(startMs, prompts[turn], outputs[turn], chain, session);
      if (before != LabRequest.NO_PARENT) {
        request = request.following(before, Chains.exponential(random, thinkMs));
      }
      before = requests.size();
      requests.add(request);
    }
    return before;
  }
}
