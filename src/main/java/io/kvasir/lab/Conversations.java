package io.kvasir.lab;

import io.kvasir.lab.trace.TraceLine;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The conversations of a trace: finds for each request the turn before it. Some traces name sessions or chats; in
 * others a turn is recognised by its prompt, which begins with all full blocks of an earlier prompt: at least two,
 * since a first block may be a common system prompt.
 */
final class Conversations {
  private static final int MIN_BLOCKS = 2;

  private Conversations() {}

  /** The hashes of a request's full blocks, as far as the trace knows them. */
  static long[] chain(TraceLine line, int blockSize) {
    long[] chain = new long[Math.min(line.ids().length, line.known() / blockSize)];
    for (int i = 0; i < chain.length; i++) {
      chain[i] = BlockHashes.hashOf(line.ids()[i]);
    }
    return chain;
  }

  /** The position of the turn before each line, -1 where there is none. */
  static int[] parents(List<TraceLine> lines, int blockSize) {
    int[] parents = new int[lines.size()];
    Map<String, Integer> byName = new HashMap<>();
    Map<Long, Integer> byLastBlock = new HashMap<>();
    for (int i = 0; i < parents.length; i++) {
      TraceLine line = lines.get(i);
      TraceLine.Turn turn = line.turn();
      if (turn.session() != null) {
        Integer before = byName.put(turn.session(), i);
        parents[i] = before == null ? LabRequest.NO_PARENT : before;
      } else if (turn.chat() != null) {
        String parent = turn.parentChat();
        parents[i] = parent == null ? LabRequest.NO_PARENT : byName.getOrDefault(parent, LabRequest.NO_PARENT);
        byName.put(turn.chat(), i);
      } else {
        long[] chain = chain(line, blockSize);
        parents[i] = LabRequest.NO_PARENT;
        for (int depth = chain.length - 1; depth >= MIN_BLOCKS && parents[i] < 0; depth--) {
          parents[i] = byLastBlock.getOrDefault(chain[depth - 1], LabRequest.NO_PARENT);
        }
        if (chain.length >= MIN_BLOCKS) {
          byLastBlock.put(chain[chain.length - 1], i);
        }
      }
    }
    return parents;
  }
}
