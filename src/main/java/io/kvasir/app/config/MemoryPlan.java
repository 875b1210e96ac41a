package io.kvasir.app.config;

import io.kvasir.answers.AnswerSettings;
import io.kvasir.answers.AnswerSettings.StoreSettings;
import io.kvasir.app.config.KvasirConfig.GatewayConfig;
import io.kvasir.cell.PodSpec;
import io.kvasir.picker.PickerSettings;
import io.kvasir.prompt.ModelConfig;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How a node's heap is divided: the limits of all that grows with use, which have to fit together. Sizes are in bytes.
 *
 * @param heap the largest heap of the JVM
 * @param requests what clients' requests may take together
 * @param prompts the cache of prompt prefixes
 * @param answers the response cache and what is recorded for it, 0 without one
 * @param cells the cells of the configured pods and models, at least 1: a node has each at most once, at home or as a
 *     copy
 * @param index the limit of one cell's index
 */
public record MemoryPlan(long heap, long requests, long prompts, long answers, int cells, long index) {
  private static final long MIB = 1 << 20;

  /** New objects, and what a node has without any request: actors, connections, tokenizers, metrics. */
  private static final long LEAST_WORK = 64 * MIB;

  /** An automatic limit of an index; more rows than that are rarely worth their memory. */
  private static final long LARGEST_INDEX = 1024 * MIB;
  private static final long LEAST_INDEX = 4 * MIB;
  private static final long LARGEST_PROMPTS = 256 * MIB;
  private static final double LEAST_FREE_SHARE = 0.05;

  /** What a JVM leaves out of the heap that it is given and reports: a part of the young generation. */
  private static final long UNREPORTED = 40 * MIB;

  /** What the process has beside its heap: code, classes, threads, buffers, tokenizers. */
  private static final long BESIDE_HEAP = 300 * MIB;

  /** The plan of a configuration for this JVM. */
  public static MemoryPlan of(KvasirConfig config) {
    return new MemoryPlan(
        Runtime.getRuntime().maxMemory(),
        requests(config.gateway(), config.picker()),
        config.prompts().settings().memoBytes(),
        answers(config.execution().answers()),
        cells(config.fleet().pods(), config.prompts().models(), config.fleet().cell().index().maxWorkers()),
        config.fleet().cell().index().budgetBytes());
  }

  /** What bodies of requests may take, at all listeners together. */
  static long requests(GatewayConfig gateway, @Nullable PickerSettings picker) {
    return gateway.http().memoryBytes() + (picker == null ? 0 : picker.limits().memoryBytes());
  }

  /** The automatic size of the cache of prompt prefixes. */
  static long prompts(long heap) {
    return Math.min(LARGEST_PROMPTS, heap / 8);
  }

  /** What the response cache may take. */
  static long answers(@Nullable AnswerSettings settings) {
    if (settings == null) {
      return 0;
    }
    long kept = settings.store() instanceof StoreSettings.Memory memory ? memory.bytes() : 0;
    return kept + settings.recordingBytes();
  }

  /** One for each model, of a pod or described; more where it has more workers than a cell may have. */
  private static int cells(List<PodSpec> pods, List<ModelConfig> models, int maxWorkers) {
    Map<String, Integer> workers = new HashMap<>();
    models.forEach(model -> workers.put(model.name(), 1));
    Map<String, Integer> ranks = new HashMap<>();
    for (PodSpec pod : pods) {
      String model = pod.models().stream().findFirst().orElse("");
      ranks.merge(model, Math.max(1, pod.engine().ranks()), Integer::sum);
    }
    workers.putAll(ranks);
    return Math.max(1, workers.values().stream().mapToInt(each -> Math.ceilDiv(each, maxWorkers)).sum());
  }

  /** The same with as many cells as pods and models need. */
  MemoryPlan withCellsOf(List<PodSpec> pods, List<ModelConfig> models, int maxWorkers) {
    return new MemoryPlan(heap, requests, prompts, answers, cells(pods, models, maxWorkers), index);
  }

  /** The same with a limit for each index. */
  MemoryPlan withIndex(long bytes) {
    return new MemoryPlan(heap, requests, prompts, answers, cells, bytes);
  }

  /** The limit of an index that the rest of the heap allows. */
  long automaticIndex() {
    long left = heap - work() - requests - prompts - answers;
    return Math.clamp(left / cells, LEAST_INDEX, LARGEST_INDEX);
  }

  /** Whether all limits can be reached at once. */
  boolean fits() {
    return work() + parts() <= heap;
  }

  /** What is kept for new objects and for all that has no limit of its own. */
  private long work() {
    return LEAST_WORK + heap / 10;
  }

  private long parts() {
    return requests + prompts + answers + cells * index;
  }

  /** Why it does not fit, and what to do. */
  String shortage() {
    // Requests, prompts and work grow with the heap.
    double freeShare = 0.9 - (double) requests / heap;
    long fixed = LEAST_WORK + Math.max(prompts, LARGEST_PROMPTS) + answers + cells * index;
    String remedy =
        freeShare < LEAST_FREE_SHARE
            ? "lower gateway.memory-share"
            : "start with KVASIR_HEAP=%dm or more, or lower what is largest"
                .formatted((long) Math.ceil((fixed / freeShare + UNREPORTED) / MIB));
    return "does not fit into the heap of %d MiB: %s; %s".formatted(heap / MIB, division(), remedy);
  }

  private String division() {
    return "requests %d MiB (gateway.memory-share), %s %d MiB (cell.index-budget), prompts %d MiB (prompt.memo)%s,"
        .formatted(
            requests / MIB, cells == 1 ? "index" : "indexes " + cells + " x", index / MIB, prompts / MIB,
            answers == 0 ? "" : ", answers %d MiB (answers)".formatted(answers / MIB))
        + " all else %d MiB".formatted(work() / MIB);
  }

  /** The plan in one line, for operators. */
  @Override
  public String toString() {
    return "memory: a heap of up to %d MiB for %s; with code, threads and buffers the process takes up to some %d MiB"
            .formatted(heap / MIB, division(), (heap + BESIDE_HEAP) / MIB)
        + " (KVASIR_HEAP=SIZE sets the heap)";
  }
}
