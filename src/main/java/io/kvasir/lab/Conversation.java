package io.kvasir.lab;

import java.util.List;
import java.util.SplittableRandom;

/** One conversation of a generator: the lengths of its turns and the chain of its whole text. */
final class Conversation {
  private final String session;
  private final int[] prompts;
  private final int[] outputs;
  private final BlockHashes chain;
  private final double thinkMs;

  /**
   * A conversation with lengths drawn around those of a shape.
   *
   * @param number distinguishes its text from that of all others
   * @param group all conversations of a group share their system prompt
   */
  Conversation(ConversationShape shape, int number, int group, SplittableRandom random) {
    this.session = "s" + number;
    this.prompts = new int[shape.turns()];
    this.outputs = new int[shape.turns()];
    this.thinkMs = shape.thinkMs();
    int length = shape.system();
    for (int turn = 0; turn < prompts.length; turn++) {
      length += Chains.around(random, shape.input());
      prompts[turn] = length;
      outputs[turn] = Chains.around(random, shape.output());
      length += outputs[turn];
    }
    this.chain = Chains.of(length, shape.blockSize(), shape.system(), group, number);
  }

  /**
   * Adds its turns, each of which follows the one before it.
   *
   * @param after the request the first turn follows; {@link LabRequest#NO_PARENT} for one at {@code startMs}
   * @return the last turn's position
   */
  int append(List<LabRequest> requests, int after, double startMs, SplittableRandom random) {
    int before = after;
    for (int turn = 0; turn < prompts.length; turn++) {
      // All turns share the whole text's chain: an engine computes no blocks beyond the end of a turn's answer, and the
      // answer's own are those the next turn finds on the same engine.
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
