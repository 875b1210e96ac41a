package io.kvasir.load.index;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.app.terminal.ProgressBar;
import io.kvasir.load.index.IndexTrace.Request;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.DoubleConsumer;
import java.util.function.IntFunction;
import java.util.function.ToDoubleFunction;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code ./kvasir bench index}: the index beside three others on one trace, in one run. */
@Command(
    name = "index",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Replays a Mooncake trace through Kvasir's index and three others, side by side.",
      "",
      "Event threads apply what the workers' caches store and evict as fast as they can; beside one event"
          + " thread another thread looks chains up. Every answer is checked against the caches in a pass of its"
          + " own.",
      ""
    })
final class IndexBench implements Callable<Integer> {
  private static final Map<String, IntFunction<IndexUnderTest>> INDEXES = new LinkedHashMap<>();

  static {
    INDEXES.put(KvasirIndex.NAME, KvasirIndex::new);
    INDEXES.put("positional", PositionalIndex::new);
    INDEXES.put("block-sets", BlockSets::new);
    INDEXES.put("nested-maps", NestedMaps::new);
  }

  @Spec private @Nullable CommandSpec spec;

  @Option(names = "--trace", required = true, paramLabel = "FILE", description = "Mooncake trace, .jsonl or .jsonl.gz.")
  private Path trace = Path.of("");

  @Option(
      names = "--split",
      paramLabel = "K",
      defaultValue = "4",
      description = "Blocks each 512-token id stands for (default: ${DEFAULT-VALUE}).")
  private int split;

  @Option(
      names = "--workers",
      paramLabel = "W",
      defaultValue = "16",
      description = "Workers, up to 256 (default: ${DEFAULT-VALUE}).")
  private int workers;

  @Option(
      names = "--capacity",
      paramLabel = "BLOCKS",
      defaultValue = "16384",
      description = "Blocks a worker's cache holds (default: ${DEFAULT-VALUE}).")
  private int capacity;

  @Option(
      names = "--copies",
      paramLabel = "N",
      defaultValue = "1",
      description = "How often each request comes, each time with content of its own (default: ${DEFAULT-VALUE}).")
  private int copies;

  @Option(
      names = "--rounds",
      paramLabel = "N",
      defaultValue = "5",
      description =
          "Measured passes of each kind, after as many to warm up; the median counts (default: ${DEFAULT-VALUE}).")
  private int rounds;

  @Option(
      names = "--only",
      split = ",",
      paramLabel = "NAME",
      description = "Which indexes: kvasir, positional, block-sets, nested-maps (default: all).")
  private List<String> only = List.of();

  @Option(names = "--json", paramLabel = "OUT", description = "Write the results there, too.")
  private @Nullable Path json;

  private record Result(
      String name, double writes1, double writes2, Histogram lookups, double bytesPerPair, int mismatches) {
    double lookupUs(double percentile) {
      return lookups.getValueAtPercentile(percentile) / 1e3;
    }
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    check();
    System.err.printf("reading %s ...%n", trace);
    List<Request> requests = IndexTrace.load(trace, split, workers, capacity, copies);
    if (requests.isEmpty()) {
      throw fault("--trace: " + trace + " has no request that fits into " + capacity + " blocks");
    }
    long blocks = 0;
    for (Request request : requests) {
      blocks += request.keys().length + request.evicted().length;
    }
    System.out.printf(
        Locale.ROOT,
        "%s: %,d requests, split %d, %d workers x %,d blocks, %,d blocks written a pass%n%s%n%n",
        trace.getFileName(),
        requests.size(),
        split,
        workers,
        capacity,
        blocks,
        machine());
    IndexReplay replay = new IndexReplay(requests, workers);
    double _ = replay.bytesPerPair(() -> new KvasirIndex(workers)); // what reading the trace left behind goes here
    List<Result> results = new ArrayList<>();
    for (Map.Entry<String, IntFunction<IndexUnderTest>> candidate : INDEXES.entrySet()) {
      if (only.isEmpty() || only.contains(candidate.getKey())) {
        results.add(measure(replay, candidate.getKey(), candidate.getValue()));
      }
    }
    print(results);
    if (json != null) {
      write(json, results);
    }
    return results.stream().anyMatch(r -> r.name().equals(KvasirIndex.NAME) && r.mismatches() > 0) ? 1 : 0;
  }

  private void check() {
    List<String> faults = new ArrayList<>();
    if (!Files.isReadable(trace)) {
      faults.add("--trace: cannot read " + trace);
    }
    if (split < 1 || split > 512) {
      faults.add("--split: must be 1 to 512, is " + split);
    }
    if (workers < 1 || workers > 256) {
      faults.add("--workers: must be 1 to 256, is " + workers);
    }
    if (capacity < 1) {
      faults.add("--capacity: must be at least 1, is " + capacity);
    }
    if (copies < 1 || copies > 1000) {
      faults.add("--copies: must be 1 to 1000, is " + copies);
    }
    if (rounds < 1) {
      faults.add("--rounds: must be at least 1, is " + rounds);
    }
    for (String name : only) {
      if (!INDEXES.containsKey(name)) {
        faults.add("--only: no index is named " + name + ", there are " + String.join(", ", INDEXES.keySet()));
      }
    }
    if (!faults.isEmpty()) {
      throw fault(String.join(System.lineSeparator(), faults));
    }
  }

  private ParameterException fault(String text) {
    if (spec == null) {
      throw new IllegalStateException(text);
    }
    return new ParameterException(spec.commandLine(), text);
  }

  private Result measure(IndexReplay replay, String name, IntFunction<IndexUnderTest> make)
      throws InterruptedException {
    try (ProgressBar progress = new ProgressBar(name)) {
      return measure(replay, name, make, progress);
    }
  }

  private Result measure(IndexReplay replay, String name, IntFunction<IndexUnderTest> make, ProgressBar progress)
      throws InterruptedException {
    int steps = 2 + 4 * rounds;
    progress.draw(0, "memory");
    double bytes = replay.bytesPerPair(() -> make.apply(workers));
    int mismatches = replay.mismatches(make.apply(workers), step(progress, "check", 1, steps));
    Histogram lookups = new Histogram(10_000_000_000L, 3);
    List<Double> one = new ArrayList<>();
    List<Double> two = new ArrayList<>();
    for (int round = 0; round < 2 * rounds; round++) {
      DoubleConsumer step = step(progress, "1 event thread", 2 + round, steps);
      IndexReplay.Pass pass = replay.pass(make.apply(workers), 1, step);
      if (round >= rounds) {
        one.add(pass.blocksPerSecond());
        lookups.add(pass.lookups());
      }
    }
    for (int round = 0; round < 2 * rounds; round++) {
      DoubleConsumer step = step(progress, "2 event threads", 2 + 2 * rounds + round, steps);
      IndexReplay.Pass pass = replay.pass(make.apply(workers), 2, step);
      if (round >= rounds) {
        two.add(pass.blocksPerSecond());
      }
    }
    progress.end();
    return new Result(name, median(one), median(two), lookups, bytes, mismatches);
  }

  private static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    return sorted.get(sorted.size() / 2);
  }

  private static DoubleConsumer step(ProgressBar progress, String what, int step, int steps) {
    return part -> progress.draw((step + part) / steps, what);
  }

  private static String machine() {
    List<String> flags =
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream().filter(f -> f.startsWith("-X")).toList();
    return "%d cores, Java %s, %s"
        .formatted(
            Runtime.getRuntime().availableProcessors(),
            Runtime.version().feature(),
            flags.isEmpty() ? "no flags" : String.join(" ", flags));
  }

  private static void print(List<Result> results) {
    System.out.printf(
        "%-12s %12s %12s %10s %10s %10s %8s %10s%n",
        "index", "M blocks/s 1", "M blocks/s 2", "p50 us", "p99 us", "p99.9 us", "B/pair", "mismatches");
    for (Result r : results) {
      System.out.printf(
          Locale.ROOT,
          "%-12s %12.2f %12.2f %10.2f %10.2f %10.2f %8.1f %10d%n",
          r.name(),
          r.writes1() / 1e6,
          r.writes2() / 1e6,
          r.lookupUs(50),
          r.lookupUs(99),
          r.lookupUs(99.9),
          r.bytesPerPair(),
          r.mismatches());
    }
    results.stream()
        .filter(r -> r.name().equals(KvasirIndex.NAME))
        .findFirst()
        .ifPresent(ours -> printRatios(ours, results));
  }

  private static void printRatios(Result ours, List<Result> results) {
    System.out.println();
    for (Result other : results) {
      if (!other.name().equals(ours.name())) {
        System.out.printf(
            Locale.ROOT,
            "kvasir / %-11s writes %5.2f x %5.2f x   look-ups p50 %5.3f x  p99 %5.3f x   memory %5.3f x%n",
            other.name(),
            ratio(ours, other, Result::writes1),
            ratio(ours, other, Result::writes2),
            ratio(ours, other, r -> r.lookupUs(50)),
            ratio(ours, other, r -> r.lookupUs(99)),
            ratio(ours, other, Result::bytesPerPair));
      }
    }
  }

  private static double ratio(Result ours, Result other, ToDoubleFunction<Result> figure) {
    return figure.applyAsDouble(ours) / figure.applyAsDouble(other);
  }

  private void write(Path out, List<Result> results) throws IOException {
    ObjectMapper mapper = new ObjectMapper();
    ObjectNode root = mapper.createObjectNode();
    root.put("trace", String.valueOf(trace.getFileName()))
        .put("split", split)
        .put("workers", workers)
        .put("capacity", capacity)
        .put("copies", copies)
        .put("machine", machine());
    ArrayNode list = root.putArray("results");
    for (Result r : results) {
      ObjectNode node = list.addObject();
      node.put("name", r.name())
          .put("write_blocks_per_s_1", Math.round(r.writes1()))
          .put("write_blocks_per_s_2", Math.round(r.writes2()));
      node.putObject("lookup_us").put("p50", r.lookupUs(50)).put("p99", r.lookupUs(99)).put("p999", r.lookupUs(99.9));
      node.put("bytes_per_pair", r.bytesPerPair()).put("mismatches", r.mismatches());
    }
    Files.write(out, mapper.writerWithDefaultPrettyPrinter().writeValueAsBytes(root));
  }
}
