package io.kvasir.programs;

import io.kvasir.index.Chain;
import java.util.LinkedHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Recognises programs that do not name themselves by their prompts: a prompt that begins with all of an earlier one is
 * its program's next turn. Of each program the end of its last prompt is remembered, to steps of
 * {@value #STEP_TOKENS} tokens; a request looks for the steps of its own prompt, the last one first, so that a next
 * turn costs as many look-ups as it has steps of new text; those of a first turn, which find nothing, mostly end at a
 * filter. Two prompts that differ in their last step alone are taken
 * for one program: they have next to nothing of their own. Thread-safe.
 */
public final class PrefixPrograms {
  static final int STEP_TOKENS = 1024;

  private final int maxPrograms;

  /** The names of programs by the hash at the end of their last prompts, the one that was quiet for longest first. */
  private final LinkedHashMap<Long, String> ends = new LinkedHashMap<>();

  private HashFilter filter = new HashFilter(1);

  /** New programs so far. */
  private long begun;

  /**
   * No programs yet.
   *
   * @param maxPrograms remembered at once, at least 1
   */
  public PrefixPrograms(int maxPrograms) {
    this.maxPrograms = maxPrograms;
  }

  /**
   * The name of the program that a prompt continues, a new one if it continues none; null when it is shorter than a
   * step. Prompts after it may go on from its end, so that the same again may be another program.
   *
   * @param tenant whose programs it may be one of
   */
  public @Nullable String of(String tenant, Chain chain) {
    int blocks = Math.max(1, STEP_TOKENS / chain.blockSize());
    int steps = chain.length() / blocks;
    if (steps == 0) {
      return null;
    }
    long salt = tenant.hashCode() * 0x9E3779B97F4A7C15L;
    long end = chain.hashes()[steps * blocks - 1] ^ salt;
    synchronized (ends) {
      String name = null;
      for (int step = steps; step > 0 && name == null; step--) {
        name = remove(chain.hashes()[step * blocks - 1] ^ salt);
      }
      if (name == null) {
        // Its end alone is no name: the program moves on, and another one may begin with the same steps.
        name = tenant + "/~" + Long.toHexString(end) + "-" + ++begun;
        if (ends.size() >= maxPrograms) {
          filter.remove(ends.pollFirstEntry().getKey());
        }
      }
      put(end, name);
      return name;
    }
  }

  private @Nullable String remove(long end) {
    String name = filter.mayContain(end) ? ends.remove(end) : null;
    if (name != null) {
      filter.remove(end);
    }
    return name;
  }

  private void put(long end, String name) {
    ends.putLast(end, name);
    if (filter.isFor(ends.size())) {
      filter.add(end);
    } else {
      filter = new HashFilter(2 * ends.size());
      ends.keySet().forEach(filter::add);
    }
  }
}
