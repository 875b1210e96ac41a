package io.kvasir.lab;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Which request of a trace is the turn before which. Traces that name sessions or chats say so; of others the
 * prompts tell: a turn's prompt begins with all full blocks of an earlier prompt, at least two, since a first
 * block may be everybody's system prompt.
 */
final class Conversations {
  private static final int LEAST_BLOCKS = 2;

  private Conversations() {}

  /** For each line the position of the turn before it, -1 where there is none. */
  static int[] parents(List<TraceLine> lines, int blockSize) {
    int[] parents = new int[lines.size()];
    Map<String, Integer> byName = new HashMap<>();
    Map<Long, Integer> byLastBlock = new HashMap<>();
    for (int i = 0; i < parents.length; i++) {
      TraceLine line = lines.get(i);
      if (line.session() != null) {
        Integer before = byName.put(line.session(), i);
        parents[i] = before == null ? LabRequest.NO_PARENT : before;
      } else if (line.chat() != null) {
        String parent = line.parentChat();
        parents[i] = parent == null ? LabRequest.NO_PARENT : byName.getOrDefault(parent, LabRequest.NO_PARENT);
        byName.put(line.chat(), i);
      } else {
        long[] chain = line.chain(blockSize);
        parents[i] = LabRequest.NO_PARENT;
        for (int depth = chain.length - 1; depth >= LEAST_BLOCKS && parents[i] < 0; depth--) {
          parents[i] = byLastBlock.getOrDefault(chain[depth - 1], LabRequest.NO_PARENT);
        }
        if (chain.length >= LEAST_BLOCKS) {
          byLastBlock.put(chain[chain.length - 1], i);
        }
      }
    }
    return parents;
  }
}
