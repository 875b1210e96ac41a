package io.kvasir.load;

import io.kvasir.app.terminal.ProgressBar;
import io.kvasir.enginemodel.CacheGroup;
import io.kvasir.enginemodel.Speculation;
import io.kvasir.sim.settings.EngineCondition;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * {@code load-tests/truth}: requests of many kinds through a router before any engines; what the router predicted to
 * be cached is compared with what each engine reports in {@code usage}.
 */
@Command(name = "load-tests/truth", mixinStandardHelpOptions = true, sortOptions = false, showDefaultValues = true)
final class Truth implements Callable<Integer> {
  private static final double RECOVERY_SECONDS = 5;
  /** How long traffic goes on after a fault: it has to be seen that all is well again. */
  private static final long AFTER_FAULT_NANOS = TimeUnit.SECONDS.toNanos(6);

  @Parameters(
      paramLabel = "ENGINE",
      arity = "0..*",
      description = {
        "http://h1:8000[,events=PORT|ENDPOINT|none][,replay=...][,role=both|prefill|decode]",
        "[,transfer=DIALECT][,bootstrap-port=N][,engine-id=ID]; none: simulated engines of its own."
      })
  private List<String> engines = List.of();

  @Option(
      names = "--with-vllm",
      paramLabel = "N",
      description = "Engines of vLLM on this machine's CPUs, installed by load-tests/install-vllm (6 GB of disk) if"
          + " need be, with a tiny model: as many, 3 GB of memory each. --vllm-version V is another version of it."
          + " With --pairs some more, which hand KV blocks over by NIXL.")
  private @Nullable Integer vllms;

  @Option(names = "--vllm", paramLabel = "PROGRAM", description = "Where vLLM is; load-tests/truth says it.")
  private Path vllm = Path.of("vllm");

  @Option(
      names = "--with-sglang",
      paramLabel = "N",
      description = "The same of SGLang, installed by load-tests/install-sglang (vLLM, and 1 GB of disk)."
          + " --sglang-version V is another version of it.")
  private int sglangs;

  @Option(names = "--sglang", paramLabel = "PYTHON", description = "A Python that has it; load-tests/truth says it.")
  private Path sglang = Path.of("python3");

  @Option(names = "--router", description = "Gateway of a router that runs; none: a node of its own.")
  private @Nullable URI gateway;

  @Option(names = "--management", description = "That router's management port.")
  private @Nullable URI management;

  @Option(names = "--key", description = "API key for that router.")
  private @Nullable String key;

  @Option(
      names = "--model-dir",
      description = "The engines' model: tokenizer and template, where there are none /tokenize. Engines that this"
          + " starts serve it, with made-up weights if it has none.")
  private @Nullable String modelDirectory;

  @Option(
      names = "--traffic",
      split = ",",
      description = "Only these: multi-turn, concurrent, branching, tools, salted, lora, prefill-decode,"
          + " evicting, restarting, lossy.")
  private List<String> traffic = List.of();

  @Option(names = "--requests", defaultValue = "2000", description = "Of each kind of traffic.")
  private int requests;

  @Option(
      names = "--seconds",
      defaultValue = "170",
      description = "For all together; what is missing then is left out.")
  private int seconds;

  @Option(
      names = "--pause-ms",
      defaultValue = "20",
      description = "Between an answer and its client's next turn; events come a little after answers.")
  private int pauseMillis;

  @Option(names = "--goal", defaultValue = "99.9", description = "Percent that have to be exact on each engine.")
  private double goal;

  @Option(names = "--simulators", defaultValue = "3", description = "Simulated engines, when none are named.")
  private int simulators;

  @Option(
      names = "--pairs",
      paramLabel = "N",
      description = "And pairs of a prefill and a decode engine: 1 of simulated engines, none of others unless named.")
  private @Nullable Integer pairs;

  @Option(names = "--blocks", defaultValue = "4096", description = "KV blocks of a simulated engine.")
  private int blocks;

  @Option(
      names = "--block-sizes",
      split = ",",
      paramLabel = "TOKENS",
      description = "Tokens in a KV block of the engines that this starts, in turn; prompts are cut into the smallest.")
  private List<Integer> blockSizes = List.of();

  @Option(
      names = "--cache-groups",
      split = ",",
      paramLabel = "window=TOKENS|state",
      description = "KV cache groups of the simulated engines beside full attention, but of the pairs'; with"
          + " --with-vllm one, for which the model has a second layer.")
  private List<String> cacheGroups = List.of();

  @Option(
      names = "--speculation",
      paramLabel = "none|recomputes-last-block|lookahead",
      defaultValue = "none",
      description = "What a draft model makes of the simulated engines' caches, but of the pairs'; with --with-vllm"
          + " they have one, EAGLE's, and their version decides.")
  private String speculation = "";

  @Option(
      names = "--set",
      paramLabel = "SETTING=VALUE",
      description = "A setting of the router that this starts, such as admission.enabled=true.")
  private Map<String, String> settings = Map.of();

  @Option(
      names = "--adapters",
      description = "Engines of --with-vllm and --with-sglang serve two LoRA adapters, as simulated ones do.")
  private boolean adapters;

  @Option(
      names = "--condition",
      split = ",",
      description = "What is wrong with the simulated engines from the start, such as stores-only.")
  private List<String> conditions = List.of();

  @Option(
      names = "--examples",
      defaultValue = "1",
      description = "Of each engine's misses of a kind so many are explained, by kind of traffic.")
  private int examples;

  @Option(names = "--seed", defaultValue = "1", description = "Decides the prompts.")
  private long seed;

  @Option(names = "--json", paramLabel = "OUT", description = "Write the results there, too.")
  private @Nullable Path json;

  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private long deadline;

  public static void main(String[] args) {
    // Engines that crash on purpose are no news.
    System.setProperty("kvasir.log.level", "ERROR");
    System.exit(run(args));
  }

  /** Runs the command; its exit status is 0 where the goal was met, 1 where it was not, 2 when it could not run. */
  static int run(String... args) {
    return new CommandLine(new Truth())
        .setExecutionExceptionHandler((e, command, _) -> {
          command.getErr().println(e.getMessage());
          return 2;
        })
        .execute(args);
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    try (http; TruthFleet own = fleet()) {
      deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
      List<EngineAddress> addresses =
          own != null ? own.addresses() : engines.stream().map(EngineAddress::parse).toList();
      try (TruthRouter router = router(addresses);
          ChatClient client = new ChatClient(router.gateway(), key)) {
        return new TruthReport(goal, RECOVERY_SECONDS).print(drive(router, client), json);
      }
    }
  }

  /** Engines of its own; null where there are others. */
  private @Nullable TruthFleet fleet() throws IOException, InterruptedException {
    List<CacheGroup> groups = cacheGroups.stream().map(CacheGroup::parse).toList();
    Speculation drafts = Speculation.parse(speculation);
    if (vllms != null || sglangs > 0) {
      if (modelDirectory != null && (!groups.isEmpty() || drafts != Speculation.NONE || adapters)) {
        throw new IOException(
            "--model-dir: --cache-groups, --speculation and --adapters are for a model that this makes");
      }
      if (!engines.isEmpty() || gateway != null) {
        throw new IOException(
            "--with-vllm or --with-sglang starts the engines, and a router before them: name no others");
      }
      if (groups.size() > (vllms != null ? 1 : 0)) {
        throw new IOException(
            "--cache-groups: engines of vLLM have one beside full attention, window=TOKENS or state, and those of"
                + " SGLang none");
      }
      if (sglangs > 0 && drafts != Speculation.NONE) {
        throw new IOException("--speculation: SGLang does not speculate on CPUs");
      }
      return realEngines(
          new WordModel.Features(groups.isEmpty() ? null : groups.getFirst(), drafts != Speculation.NONE, adapters));
    }
    if (!engines.isEmpty() || gateway != null) {
      if (!groups.isEmpty() || drafts != Speculation.NONE || !blockSizes.isEmpty()) {
        throw new IOException(
            "--cache-groups, --speculation and --block-sizes are for engines that this starts: those named have their"
                + " own");
      }
      return null;
    }
    return new TruthSimulators(
        simulators, pairs == null ? 1 : pairs, blocks, blockSizes.isEmpty() ? List.of(16) : blockSizes, groups, drafts,
        conditions());
  }

  /** Those of vLLM, and after them those of SGLang, which have the sizes of blocks that are left. */
  private TruthFleet realEngines(WordModel.Features features) throws IOException, InterruptedException {
    int before = vllms == null ? 0 : vllms;
    RealEngines.Count count = new RealEngines.Count(before, pairs == null ? 0 : pairs);
    if (count.whole() + count.pairs() + sglangs == 0 || (vllms == null && count.pairs() > 0)) {
      throw new IOException("--with-vllm N --pairs N: one of them is to be positive, and pairs are vLLM's");
    }
    RealEngines first =
        vllms == null ? null : RealEngines.vllm(vllm, count, blockSizes, model(features), features, http);
    if (sglangs == 0) {
      return Objects.requireNonNull(first);
    }
    try {
      List<Integer> left = blockSizes.size() > before ? blockSizes.subList(before, blockSizes.size()) : blockSizes;
      WordModel.Features plain = new WordModel.Features(null, false, adapters);
      RealEngines second = RealEngines.sglang(sglang, sglangs, left, model(plain), plain, http);
      return first == null ? second : TruthFleet.of(first, second);
    } catch (IOException | InterruptedException e) {
      if (first != null) {
        first.close();
      }
      throw e;
    }
  }

  /** Where the model of engines that this starts is, or is to be made. */
  private RealEngines.ModelSource model(WordModel.Features features) {
    return modelDirectory == null ? work -> WordModel.write(work, features) : _ -> Path.of(modelDirectory);
  }

  private TruthRouter router(List<EngineAddress> addresses) throws IOException, InterruptedException {
    if (gateway != null) {
      if (management == null) {
        throw new IOException("--router needs --management, the URL of the same router's management port");
      }
      return TruthRouter.running(gateway, management, http);
    }
    List<TruthEngine> asked = new ArrayList<>();
    for (EngineAddress address : addresses) {
      asked.add(TruthEngine.ask(address.url()));
    }
    return TruthRouter.start(addresses, asked, modelDirectory, settings, http);
  }

  private List<TruthTally> drive(TruthRouter router, ChatClient client) throws IOException, InterruptedException {
    List<TruthEngine> aggregated = new ArrayList<>();
    boolean divided = false;
    for (TruthRouter.Worker worker : router.workers()) {
      divided |= worker.role().equals("prefill");
      if (worker.role().equals("both") && aggregated.stream().noneMatch(one -> one.url().equals(worker.url()))) {
        aggregated.add(TruthEngine.ask(worker.url()));
      }
    }
    List<TruthTally> tallies = new ArrayList<>();
    for (TrafficKind kind : kinds()) {
      String obstacle = obstacle(kind, aggregated, divided);
      if (obstacle.isEmpty()) {
        tallies.add(drive(kind, router, client, aggregated));
      } else {
        System.err.printf("%s: left out, %s%n", kind, obstacle);
      }
    }
    return tallies;
  }

  /** The workers whose engines report cached tokens only where there were any. */
  private static Set<String> leaveOutZero(TruthRouter router, List<TruthEngine> engines)
      throws IOException, InterruptedException {
    return router.workers().stream()
        .filter(worker -> engines.stream().anyMatch(one -> one.leavesOutZero() && one.url().equals(worker.url())))
        .map(TruthRouter.Worker::id)
        .collect(Collectors.toUnmodifiableSet());
  }

  /** Why traffic of a kind is impossible; empty when it is possible. */
  private String obstacle(TrafficKind kind, List<TruthEngine> aggregated, boolean divided) {
    if (System.nanoTime() - deadline >= 0) {
      return "the " + seconds + " seconds are over";
    }
    if (kind == TrafficKind.PREFILL_DECODE) {
      return divided ? "" : "no engine has the role prefill";
    }
    if (aggregated.isEmpty()) {
      return "no engine has the role both";
    }
    return switch (kind) {
      case LORA -> aggregated.stream().anyMatch(one -> one.models().size() == 1) ? "engines have no adapters" : "";
      case EVICTING -> evictionObstacle(cacheTokens(aggregated));
      case RESTARTING, LOSSY ->
          aggregated.stream().allMatch(TruthEngine::simulated) ? "" : "engines are not simulated";
      case MULTI_TURN, CONCURRENT, BRANCHING, TOOLS, MESSAGES, RESPONSES, SALTED, PREFILL_DECODE -> "";
    };
  }

  private String evictionObstacle(long cacheTokens) {
    if (cacheTokens == 0) {
      return "engines do not say how large their caches are";
    }
    long needed = 2 * TruthTraffic.requestsToOverflow(cacheTokens);
    return needed <= requests ? "" : "caches of %,d tokens need --requests %d".formatted(cacheTokens, needed);
  }

  private TruthTally drive(TrafficKind kind, TruthRouter router, ChatClient client, List<TruthEngine> aggregated)
      throws IOException, InterruptedException {
    TruthEngine any =
        aggregated.isEmpty()
            ? TruthEngine.ask(router.workers().getFirst().url())
            : aggregated.getFirst();
    TruthTally tally = new TruthTally(kind, examples);
    TruthTraffic.Target target =
        new TruthTraffic.Target(
            any.models(), TruthEngine.promptBlock(aggregated.isEmpty() ? List.of(any) : aggregated),
            cacheTokens(aggregated), leaveOutZero(router, aggregated), Duration.ofMillis(pauseMillis), seed);
    TruthFault fault = new TruthFault(kind, aggregated, http, tally);
    TruthTraffic run =
        new TruthTraffic(
            tally, router, client, target,
            () -> System.nanoTime() - deadline >= 0
                || (tally.answered() + tally.failed() >= requests && fault.isLongOver(AFTER_FAULT_NANOS)));
    try (ProgressBar progress = new ProgressBar(kind.toString())) {
      run.run(() -> {
        if (tally.answered() >= requests / 3) {
          fault.advance();
        }
        int done = tally.answered() + tally.failed();
        progress.draw((double) done / Math.max(1, requests), done + " requests");
      });
    }
    return tally;
  }

  private static long cacheTokens(List<TruthEngine> engines) {
    return engines.stream().anyMatch(one -> one.blocks() == 0)
        ? 0
        : engines.stream().mapToLong(one -> (long) one.blocks() * one.blockSize()).sum();
  }

  private List<TrafficKind> kinds() {
    if (traffic.isEmpty()) {
      return List.of(TrafficKind.values());
    }
    return traffic.stream().map(Truth::kind).toList();
  }

  private static TrafficKind kind(String name) {
    return Arrays.stream(TrafficKind.values())
        .filter(kind -> kind.toString().equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException(
            "--traffic: there is no " + name + "; there are " + Arrays.toString(TrafficKind.values())));
  }

  private Set<EngineCondition> conditions() {
    Set<EngineCondition> chosen = EnumSet.noneOf(EngineCondition.class);
    conditions.forEach(name -> chosen.add(EngineCondition.parse(name)));
    return chosen;
  }
}
