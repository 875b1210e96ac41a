package io.kvasir.gateway.admin;

import io.kvasir.gateway.traffic.SampledChains.Sample;
import io.kvasir.index.Chain;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * The beginnings of sampled prompts as a tree. A block's hash stands for all blocks before it, too, so two prompts
 * share what they have the same hashes of. Blocks that the same prompts share are one run: it ends where prompts part
 * or one of them ends. Used by one thread.
 */
final class PrefixTree {
  private final List<Run> roots = new ArrayList<>();
  private final List<Chain> paths = new ArrayList<>();

  /** Blocks that the same prompts share. */
  static final class Run {
    private final @Nullable Run parent;
    private final List<Sample> samples;
    private final int from;
    private final int to;
    private final List<Run> children = new ArrayList<>();
    private int path;

    private Run(@Nullable Run parent, List<Sample> samples, int from, int to) {
      this.parent = parent;
      this.samples = samples;
      this.from = from;
      this.to = to;
    }

    /** The hash of its last block. */
    long hash() {
      return samples.getFirst().chain().hashes()[to - 1];
    }

    /** Its number of blocks. */
    int blocks() {
      return to - from;
    }

    /** The number of blocks of a prompt up to its end. */
    int depth() {
      return to;
    }

    /** The sampled requests that begin with it. */
    int requests() {
      return samples.size();
    }

    /** When the last of them came, milliseconds since the epoch. */
    long lastUsedMillis() {
      return samples.stream().mapToLong(Sample::timeMillis).max().orElseThrow();
    }

    /** The tenant of all of them, null where they are of several or of none. */
    @Nullable String tenant() {
      String tenant = samples.getFirst().tenant();
      return samples.stream().allMatch(sample -> Objects.equals(sample.tenant(), tenant)) ? tenant : null;
    }

    /** The runs it goes on in, those with most requests first. */
    List<Run> children() {
      return children;
    }

    /** Which of the tree's paths leads through it. */
    int path() {
      return path;
    }
  }

  /**
   * A tree of samples, whose blocks are of one size.
   *
   * @param most its runs; those that fewer requests begin with are left out first
   */
  PrefixTree(List<Sample> samples, int most) {
    PriorityQueue<Run> next = new PriorityQueue<>(Comparator.comparingInt(Run::requests).reversed());
    next.addAll(runs(null, samples, 0));
    for (int taken = 0; taken < most && !next.isEmpty(); taken++) {
      Run run = next.remove();
      (run.parent == null ? roots : run.parent.children).add(run);
      next.addAll(runs(run, run.samples, run.to));
    }
    roots.forEach(this::addPaths);
  }

  /** The runs that prompts begin with, those with most requests first. */
  List<Run> roots() {
    return roots;
  }

  /** The blocks from the root to each run that goes on in no other. */
  List<Chain> paths() {
    return paths;
  }

  private void addPaths(Run run) {
    run.path = paths.size();
    if (run.children.isEmpty()) {
      Chain chain = run.samples.getFirst().chain();
      paths.add(chain.first(run.to));
    } else {
      run.children.forEach(this::addPaths);
    }
  }

  /** The runs that begin at a depth of prompts that are the same up to there. */
  private static List<Run> runs(@Nullable Run parent, List<Sample> samples, int from) {
    Map<Long, List<Sample>> byBlock = new LinkedHashMap<>();
    for (Sample sample : samples) {
      if (sample.chain().length() > from) {
        byBlock.computeIfAbsent(sample.chain().hashes()[from], _ -> new ArrayList<>()).add(sample);
      }
    }
    return byBlock.values().stream().map(same -> new Run(parent, same, from, end(same, from + 1))).toList();
  }

  private static int end(List<Sample> samples, int from) {
    Chain first = samples.getFirst().chain();
    int end = from;
    while (end < first.length() && sharesAll(samples, end, first.hashes()[end])) {
      end++;
    }
    return end;
  }

  private static boolean sharesAll(List<Sample> samples, int at, long hash) {
    for (Sample sample : samples) {
      if (sample.chain().length() <= at || sample.chain().hashes()[at] != hash) {
        return false;
      }
    }
    return true;
  }
}
