package io.kvasir.app.command;

import io.kvasir.app.node.StartException;
import io.kvasir.enginemodel.CacheGroup;
import io.kvasir.enginemodel.Speculation;
import io.kvasir.enginemodel.StepTime;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.lmcache.CacheController;
import io.kvasir.sim.lmcache.CacheCoordinator;
import io.kvasir.sim.lmcache.ControllerBinding;
import io.kvasir.sim.settings.CachedTokensUsage;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferSettings;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code kvasir sim}. */
@Command(
    name = "sim",
    description = "Runs a simulated vLLM engine: the OpenAI API over HTTP, its cache events over ZMQ.",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    abbreviateSynopsis = true,
    usageHelpWidth = 110,
    showDefaultValues = true)
public final class SimCommand implements Callable<Integer> {
  /** What scheduling and sampling take in vLLM, whatever the model. */
  private static final double STEP_OVERHEAD_MS = 1.0;

  private static final double SEQUENCE_OVERHEAD_US = 4.4;

  @Option(names = "--host", defaultValue = "127.0.0.1", description = "Interface to listen on.")
  private String host = "";

  @Option(names = "--port", defaultValue = "8000", description = "HTTP port; 0 for a free one.")
  private int port;

  @Mixin private final EventOptions events = new EventOptions();

  @Option(names = "--model", defaultValue = "kvasir-demo", description = "Name the model is served under.")
  private String model = "";

  @Option(
      names = "--model-dir",
      description = "Directory with tokenizer.json and chat template; default: the bundled demo model.")
  private @Nullable Path modelDirectory;

  @Option(names = "--lora", split = ",", description = "Names of LoRA adapters served beside the model.")
  private List<String> loras = List.of();

  @Option(
      names = "--max-model-len",
      defaultValue = "0",
      description = "Longest prompt and answer together, tokens; 0: what fits.")
  private int maxModelLen;

  @Option(names = "--block-size", defaultValue = "16", description = "Tokens in a KV block.")
  private int blockSize;

  @Option(
      names = "--capacity",
      defaultValue = "0",
      description = "KV blocks of each rank; 0: what the engine's memory holds.")
  private int capacity;

  @Option(
      names = "--cache-groups",
      split = ",",
      paramLabel = "window=TOKENS|state",
      description = {
        "KV cache groups of a hybrid model beside full attention, in the same blocks, as vLLM 0.32 keeps and reports",
        "them: layers with a sliding window, layers with a state such as Mamba's; such as window=1024,state."
      })
  private List<String> cacheGroups = List.of();

  @Option(
      names = "--speculation",
      paramLabel = "none|recomputes-last-block|lookahead",
      defaultValue = "none",
      description = {
        "What a draft model such as EAGLE or MTP makes of the prefix cache: the last block that is found is computed",
        "again, as by vLLM up to 0.32, or a block is shared only among prompts that go on with the same token, as by",
        "vLLM from 0.33 on and by SGLang."
      })
  private String speculation = "";

  @Option(
      names = "--engine",
      defaultValue = "h100-Qwen2.5-7B-tp1",
      description = "Latency coefficients: gpu-model-tp.")
  private String engine = "";

  @Option(
      names = "--coefficients",
      paramLabel = "T_W,N0,C_TOK,C_ATTN,C_DEC,C_SEQ",
      split = ",",
      description = {
        "Latency coefficients of your own in place of --engine's: ms per step, tokens free with it,",
        "us per token, ns per token and context token, us per 1000 context tokens and step, us per sequence."
      })
  private List<Double> coefficients = List.of();

  @Option(
      names = "--speed",
      defaultValue = "1",
      description = "Times faster than real; 0: as fast as the machine can.")
  private double speed;

  @Option(names = "--ranks", defaultValue = "1", description = "Data-parallel ranks.")
  private int ranks;

  @Option(names = "--role", defaultValue = "both", description = "both, prefill, decode or encode.")
  private Role role = Role.BOTH;

  @Mixin private final ActingOptions acting = new ActingOptions();

  @Mixin private final TransferOptions transfer = new TransferOptions();

  @Option(names = "--seed", defaultValue = "1", description = "Decides block keys and drawn faults.")
  private long seed;

  @Option(
      names = "--cached-tokens",
      paramLabel = "WHEN",
      defaultValue = "always",
      description =
          "When usage tells of cached tokens: always, found (where any were, as up to vLLM 0.23 and SGLang 0.5.21), or"
              + " never.")
  private CachedTokensUsage cachedTokens = CachedTokensUsage.ALWAYS;

  @Mixin private final TroubleOptions trouble = new TroubleOptions();

  @Mixin private final HostTierOptions hostTier = new HostTierOptions();

  @Mixin private final LmCacheOptions lmcache = new LmCacheOptions();

  private @Nullable CommandSpec spec;

  @Spec
  void setSpec(CommandSpec command) {
    spec = command;
    SimHelp.apply(command);
  }

  @Override
  public Integer call() throws StartException, InterruptedException {
    if (lmcache.coordinator() || lmcache.controller()) {
      List<String> wrong = lmcache.faults(port, given());
      if (!wrong.isEmpty()) {
        throw new StartException("it cannot start:\n  --" + String.join("\n  --", wrong));
      }
      return lmcache.coordinator() ? runCoordinator() : runController();
    }
    return runEngine();
  }

  /** The options that were given. */
  private Set<String> given() {
    return spec == null
        ? Set.of()
        : spec.commandLine().getParseResult().matchedOptions().stream()
            .map(OptionSpec::longestName)
            .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  private int runController() throws StartException, InterruptedException {
    try (CacheController sim = lmcache.startController(host, portOr(ControllerBinding.HTTP))) {
      System.out.printf("LMCache controller at %s, workers at %s%n", sim.url(), sim.workerAddress());
      awaitStop();
      return 0;
    } catch (IOException taken) {
      throw new StartException("the controller cannot start: " + taken.getMessage(), taken);
    }
  }

  private int runCoordinator() throws StartException, InterruptedException {
    try (CacheCoordinator sim = lmcache.startCoordinator(host, portOr(CacheCoordinator.HTTP))) {
      System.out.printf("LMCache coordinator at %s%n", sim.url());
      awaitStop();
      return 0;
    } catch (IOException taken) {
      throw new StartException("the coordinator cannot start: " + taken.getMessage(), taken);
    }
  }

  /** The port that was given, or {@code usual}. */
  private int portOr(int usual) {
    return given().contains("--port") ? port : usual;
  }

  private int runEngine() throws StartException, InterruptedException {
    List<String> wrong = new ArrayList<>();
    SimSettings settings = settings(wrong);
    wrong.addAll(settings.validate());
    if (!wrong.isEmpty()) {
      throw new StartException("the engine cannot start:\n  --" + String.join("\n  --", wrong));
    }
    try (SimEngine sim = SimEngine.start(settings)) {
      System.out.printf("simulated engine %s at %s%n", settings.model().name(), sim.url());
      if (sim.eventsEndpoint() != null) {
        System.out.printf("events at %s, replay at %s%n", sim.eventsEndpoint(), sim.replayEndpoint());
      }
      if (sim.transferPort() > 0) {
        System.out.printf(
            "%s as %s at 127.0.0.1:%d%n",
            sim.settings().kv().transfer().dialect(), sim.engineId(0), sim.transferPort());
      }
      awaitStop();
      return 0;
    } catch (NoSuchFileException missing) {
      String why = missing.getReason() == null ? "there is no file " + missing.getFile() : missing.getMessage();
      throw new StartException("the engine cannot start: " + why, missing);
    } catch (IOException taken) {
      throw new StartException("the engine cannot start: " + taken.getMessage(), taken);
    }
  }

  private static void awaitStop() throws InterruptedException {
    CountDownLatch stopped = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().unstarted(stopped::countDown));
    stopped.await();
  }

  private SimSettings settings(List<String> wrong) {
    EngineApi api = acting.api(wrong);
    TransferSettings transfers = transfer.settings(role, api, wrong);
    EngineApi actual = api == null ? EngineApi.of(transfers.dialect()) : api;
    return trouble.apply(acting.apply(SimSettings.builder().api(actual)), wrong)
        .host(host)
        .port(port)
        .model(model)
        .modelDirectory(modelDirectory)
        .loras(loras)
        .maxModelLen(maxModelLen)
        .blockSize(blockSize)
        .capacityBlocks(capacity)
        .groups(groups(wrong))
        .speculation(speculation(wrong))
        .engine(engine)
        .stepTime(stepTime(wrong))
        .speed(speed)
        .ranks(ranks)
        .role(role)
        .seed(seed)
        .cachedTokens(cachedTokens)
        .transfer(transfers)
        .hostTier(hostTier.settings(lmcache.noneHash(wrong), wrong))
        .events(events.settings(host, actual, wrong))
        .loadPort(events.loadPort())
        .build();
  }

  private List<CacheGroup> groups(List<String> wrong) {
    List<CacheGroup> parsed = new ArrayList<>();
    for (String group : cacheGroups) {
      try {
        parsed.add(CacheGroup.parse(group));
      } catch (IllegalArgumentException malformed) {
        wrong.add("cache-groups: " + malformed.getMessage());
      }
    }
    return parsed;
  }

  private Speculation speculation(List<String> wrong) {
    try {
      return Speculation.parse(speculation);
    } catch (IllegalArgumentException unknown) {
      wrong.add("speculation: " + unknown.getMessage());
      return Speculation.NONE;
    }
  }

  private @Nullable StepTime stepTime(List<String> wrong) {
    if (coefficients.isEmpty()) {
      return null;
    }
    if (coefficients.size() != 6) {
      wrong.add("coefficients: six numbers are needed, not " + coefficients.size());
      return null;
    }
    return new StepTime(
        coefficients.get(0),
        coefficients.get(1),
        coefficients.get(2),
        coefficients.get(3),
        coefficients.get(4),
        coefficients.get(5),
        STEP_OVERHEAD_MS,
        SEQUENCE_OVERHEAD_US);
  }
}
