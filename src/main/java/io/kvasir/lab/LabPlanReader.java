package io.kvasir.lab;

import io.kvasir.enginemodel.EngineModel;
import io.kvasir.lab.trace.TraceFormat;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The reader of a plan from options; it continues after a fault, so that all faults are reported at once. */
public final class LabPlanReader {
  private static final int MAX_WORKERS = 256;
  private static final double MAX_SCALE = 1e6;
  private static final int MAX_TENANTS = 1_000;
  private static final double MAX_WARM_UP = 0.9;
  private static final double MAX_HOST_GIGABYTES = 100_000;

  private final List<String> faults = new ArrayList<>();

  /**
   * The options of a plan, as written.
   *
   * @param load the traces, and how much of them
   * @param engines the engines that serve them
   * @param router how requests are routed
   * @param slo the objective of requests
   */
  public record LabOptions(LoadOptions load, EngineOptions engines, RouterOptions router, Slo slo) {}

  /**
   * The options of the load.
   *
   * @param traces files, or generators as {@link Generators} names them
   * @param format the format of the files among them, as {@link TraceFormat} reads it
   * @param scales loads, as multiples of each trace's own
   * @param seeds number of runs of each combination, with seeds from 1, at least 1
   * @param loop whether turns of recorded conversations wait for answers, see {@link LoopChoice}
   * @param tenants among how many tenants a trace is divided that names none, 0 to 1,000
   * @param warmUp share of the requests that come first and do not count, 0 to 0.9
   */
  public record LoadOptions(
      List<String> traces, String format, List<Double> scales, int seeds, String loop, int tenants, double warmUp) {}

  /**
   * The options of the engines.
   *
   * @param models the engine models, as {@link EngineChoice} reads them
   * @param workers the number of engines, 1 to 256, as {@link Pools} reads it
   * @param elastic whether there are fewer at times, see {@link ElasticChoice}
   * @param stalls whether they stall now and then, see {@link StallChoice}
   * @param hostGigabytes host memory beside each one's cache, 0 to 100,000
   * @param pulls whether they pull from each other what they have cached
   */
  public record EngineOptions(
      String models, String workers, String elastic, String stalls, double hostGigabytes, boolean pulls) {}

  /**
   * The options of the router.
   *
   * @param profiles built-in names, {@code all}, or files with profiles
   * @param index the index mode, see {@link IndexMode}
   * @param coefficients the router's estimates of engine speed, see {@link Coefficients}
   * @param guard the thrash guard, see {@link GuardChoice}
   */
  public record RouterOptions(List<String> profiles, String index, String coefficients, String guard) {}

  /** The plan; null when there are {@link #faults}. */
  public @Nullable LabPlan read(LabOptions options) {
    Pools pools = pools(options.engines().workers());
    @Nullable EngineChoice engines =
        read("engine", () -> EngineChoice.parse(options.engines().models(), pools.size()), null);
    LoopChoice loop = readOr("loop", () -> LoopChoice.parse(options.load().loop()), LoopChoice.TRACE);
    List<TraceSource> sources = sources(options, loop, engines == null ? null : engines.first());
    List<LabPlan.ProfileChoice> profiles =
        ProfileChoices.forRuns(options.router().profiles(), pools.both() < pools.size(), faults);
    if (options.load().seeds() < 1) {
      faults.add("seeds: must be at least 1, is " + options.load().seeds());
    }
    checkScales(options.load().scales());
    if (!(options.slo().ttftMs() > 0) || !(options.slo().tpotMs() > 0)) {
      faults.add("slo-ttft, slo-tpot: must be more than 0 milliseconds");
    }
    LabPlan.Conditions conditions = conditions(options.load(), loop);
    read("index", () -> IndexMode.parse(options.router().index()), null);
    GuardChoice guard = readOr("guard", () -> GuardChoice.parse(options.router().guard()), GuardChoice.OFF);
    ElasticChoice elastic = elastic(options, pools, engines);
    StallChoice stalls = readOr("stalls", () -> StallChoice.parse(options.engines().stalls()), StallChoice.OFF);
    double host = hostGigabytes(options);
    checkPulls(options, pools);
    @Nullable Coefficients coefficients =
        read("coefficients", () -> Coefficients.parse(options.router().coefficients()), null);
    if (engines == null || coefficients == null || !faults.isEmpty()) {
      return null;
    }
    LabPlan.Machines machines = new LabPlan.Machines(engines, pools, elastic, stalls, host, options.engines().pulls());
    return plan(options, machines, conditions, sources, profiles, coefficients, guard);
  }

  private void checkScales(List<Double> scales) {
    Set<Double> seen = new HashSet<>();
    for (double scale : scales) {
      if (!(scale > 0 && scale <= MAX_SCALE)) {
        faults.add("scale: must be more than 0, is " + scale);
      } else if (!seen.add(scale)) {
        faults.add("scale: " + ResultTable.plain(scale) + " is there twice; --seeds repeats a load with other seeds");
      }
    }
  }

  private LabPlan.Conditions conditions(LoadOptions load, LoopChoice loop) {
    if (load.tenants() < 0 || load.tenants() > MAX_TENANTS) {
      faults.add("tenants: must be 0 to " + MAX_TENANTS + ", is " + load.tenants());
    }
    if (!(load.warmUp() >= 0 && load.warmUp() <= MAX_WARM_UP)) {
      faults.add("warm-up: must be a share of the requests from 0 to " + MAX_WARM_UP + ", is " + load.warmUp());
    }
    return new LabPlan.Conditions(loop, load.tenants(), load.warmUp());
  }

  private double hostGigabytes(LabOptions options) {
    double gigabytes = options.engines().hostGigabytes();
    if (!(gigabytes >= 0 && gigabytes <= MAX_HOST_GIGABYTES)) {
      faults.add("host-memory: must be 0 to " + MAX_HOST_GIGABYTES + " gigabytes, is " + gigabytes);
    } else if (gigabytes > 0 && !options.router().index().equals("exact")) {
      faults.add("host-memory: needs the index exact, since only there its blocks are told to the router");
    } else if (gigabytes > 0 && !options.engines().elastic().equals("off")) {
      faults.add("host-memory: needs a constant fleet, since it keeps what an engine that stops would lose");
    }
    return gigabytes;
  }

  private void checkPulls(LabOptions options, Pools pools) {
    if (options.engines().pulls() && pools.both() < pools.size()) {
      faults.add("pulls: needs engines that read prompts and generate, without prefill and decode apart");
    }
  }

  private <T> @Nullable T read(String option, Supplier<T> parse, @Nullable T otherwise) {
    try {
      return parse.get();
    } catch (IllegalArgumentException malformed) {
      faults.add(option + ": " + malformed.getMessage());
      return otherwise;
    }
  }

  private <T> T readOr(String option, Supplier<T> parse, T otherwise) {
    T read = read(option, parse, null);
    return read == null ? otherwise : read;
  }

  /** The faults, one plain sentence each, beginning with the option's name. */
  public List<String> faults() {
    return List.copyOf(faults);
  }

  private static LabPlan plan(
      LabOptions options,
      LabPlan.Machines machines,
      LabPlan.Conditions conditions,
      List<TraceSource> sources,
      List<LabPlan.ProfileChoice> profiles,
      Coefficients coefficients,
      GuardChoice guard) {
    List<LabPlan.Run> runs = new ArrayList<>();
    for (TraceSource source : sources) {
      for (double scale : options.load().scales().stream().sorted().toList()) {
        for (LabPlan.ProfileChoice profile : profiles) {
          for (long seed = 1; seed <= options.load().seeds(); seed++) {
            runs.add(
                new LabPlan.Run(
                    new LabPlan.Load(source, scale, seed, conditions),
                    machines,
                    new LabPlan.RouterChoice(options.router().index(), coefficients, guard, profile),
                    options.slo()));
          }
        }
      }
    }
    return new LabPlan(runs);
  }

  private ElasticChoice elastic(LabOptions options, Pools pools, @Nullable EngineChoice engines) {
    try {
      ElasticChoice choice = ElasticChoice.parse(options.engines().elastic());
      ElasticChoice.Settings settings = choice.settings();
      if (settings != null && engines != null && !engines.isUniform()) {
        faults.add("elastic: needs engines of one kind, since the advice counts engines");
      } else if (settings != null && pools.both() < pools.size()) {
        faults.add("elastic: needs engines that prefill and decode; write workers as one number");
      } else if (settings != null && !options.router().index().equals("exact")) {
        faults.add("elastic: needs the index exact, since only there engines can lose their caches");
      } else if (settings != null && Math.max(settings.least(), settings.start()) > pools.size()) {
        faults.add("elastic: least and start must be at most " + pools.size() + ", the workers");
      }
      return choice;
    } catch (IllegalArgumentException malformed) {
      faults.add("elastic: " + malformed.getMessage());
      return ElasticChoice.OFF;
    }
  }

  private Pools pools(String written) {
    try {
      Pools pools = Pools.parse(written);
      if (pools.size() < 1 || pools.size() > MAX_WORKERS) {
        faults.add("workers: must be 1 to " + MAX_WORKERS + ", is " + pools.size());
      }
      return pools;
    } catch (IllegalArgumentException malformed) {
      faults.add("workers: " + malformed.getMessage());
      return new Pools(1, 0, 0);
    }
  }

  private List<TraceSource> sources(LabOptions options, LoopChoice loop, @Nullable EngineModel engine) {
    @Nullable TraceFormat format = read("format", () -> TraceFormat.parse(options.load().format()), null);
    List<TraceSource> sources = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (String written : options.load().traces()) {
      if (written.startsWith(Generators.PREFIX) && loop != LoopChoice.TRACE) {
        faults.add("loop: generators have a loop of their own; leave it out for " + written);
      }
      try {
        TraceSource source =
            written.startsWith(Generators.PREFIX)
                ? Generators.parse(written)
                : TraceFile.read(Path.of(written), format, loop, engine);
        if (!names.add(source.name())) {
          faults.add("trace: two are named " + source.name() + ", and reports tell them apart by name: rename one");
        }
        sources.add(source);
      } catch (NoSuchFileException missing) {
        faults.add("trace: there is no file " + written);
      } catch (IOException unreadable) {
        faults.add("trace: " + written + " cannot be read: " + unreadable.getMessage());
      } catch (IllegalArgumentException malformed) {
        faults.add("trace: " + malformed.getMessage());
      }
    }
    return sources;
  }
}
