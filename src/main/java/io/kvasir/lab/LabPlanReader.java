package io.kvasir.lab;

import io.kvasir.lab.engine.EngineModel;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The reader of a plan from options; it continues after a fault, so that all faults are reported at once. */
public final class LabPlanReader {
  private static final int MAX_WORKERS = 256;
  private static final double MAX_SCALE = 1e6;

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
   * @param scales loads, as multiples of each trace's own
   * @param seeds number of runs of each combination, with seeds from 1, at least 1
   * @param think whether turns of a conversation follow the answer before them
   */
  public record LoadOptions(List<String> traces, List<Double> scales, int seeds, boolean think) {}

  /**
   * The options of the engines.
   *
   * @param model name of an engine model
   * @param workers the number of engines, 1 to 256, as {@link Pools} reads it
   * @param elastic whether there are fewer at times, see {@link ElasticChoice}
   */
  public record EngineOptions(String model, String workers, String elastic) {}

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
    @Nullable EngineModel engine = engine(options.engines().model());
    List<TraceSource> sources = sources(options, engine);
    Pools pools = pools(options.engines().workers());
    List<LabPlan.ProfileChoice> profiles =
        ProfileChoices.read(options.router().profiles(), pools.both() < pools.size(), faults);
    if (options.load().seeds() < 1) {
      faults.add("seeds: must be at least 1, is " + options.load().seeds());
    }
    for (double scale : options.load().scales()) {
      if (!(scale > 0 && scale <= MAX_SCALE)) {
        faults.add("scale: must be more than 0, is " + scale);
      }
    }
    if (!(options.slo().ttftMs() > 0) || !(options.slo().tpotMs() > 0)) {
      faults.add("slo-ttft, slo-tpot: must be more than 0 milliseconds");
    }
    try {
      IndexMode.parse(options.router().index());
    } catch (IllegalArgumentException unknown) {
      faults.add("index: " + unknown.getMessage());
    }
    GuardChoice guard = guard(options.router().guard());
    ElasticChoice elastic = elastic(options, pools);
    try {
      Coefficients coefficients = Coefficients.parse(options.router().coefficients());
      return faults.isEmpty() ? plan(options, pools, elastic, sources, profiles, coefficients, guard) : null;
    } catch (IllegalArgumentException unknown) {
      faults.add("coefficients: " + unknown.getMessage());
      return null;
    }
  }

  /** The faults, one plain sentence each, beginning with the option's name. */
  public List<String> faults() {
    return List.copyOf(faults);
  }

  private static LabPlan plan(
      LabOptions options,
      Pools pools,
      ElasticChoice elastic,
      List<TraceSource> sources,
      List<LabPlan.ProfileChoice> profiles,
      Coefficients coefficients,
      GuardChoice guard) {
    List<LabPlan.Run> runs = new ArrayList<>();
    for (TraceSource source : sources) {
      for (double scale : options.load().scales()) {
        for (LabPlan.ProfileChoice profile : profiles) {
          for (long seed = 1; seed <= options.load().seeds(); seed++) {
            runs.add(
                new LabPlan.Run(
                    new LabPlan.Load(source, scale, seed),
                    options.engines().model(),
                    pools,
                    elastic,
                    new LabPlan.RouterChoice(options.router().index(), coefficients, guard, profile),
                    options.slo()));
          }
        }
      }
    }
    return new LabPlan(runs);
  }

  private GuardChoice guard(String written) {
    try {
      return GuardChoice.parse(written);
    } catch (IllegalArgumentException malformed) {
      faults.add("guard: " + malformed.getMessage());
      return GuardChoice.OFF;
    }
  }

  private ElasticChoice elastic(LabOptions options, Pools pools) {
    try {
      ElasticChoice choice = ElasticChoice.parse(options.engines().elastic());
      ElasticChoice.Settings settings = choice.settings();
      if (settings != null && pools.both() < pools.size()) {
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

  private @Nullable EngineModel engine(String name) {
    try {
      return EngineModel.named(name);
    } catch (IllegalArgumentException unknown) {
      faults.add("engine: " + unknown.getMessage());
      return null;
    }
  }

  private List<TraceSource> sources(LabOptions options, @Nullable EngineModel engine) {
    List<TraceSource> sources = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (String written : options.load().traces()) {
      try {
        TraceSource source =
            written.startsWith(Generators.PREFIX)
                ? Generators.parse(written)
                : TraceFile.read(Path.of(written), options.load().think(), engine);
        if (!names.add(source.name())) {
          faults.add("trace: two are named " + source.name() + ", and reports tell them apart by name: rename one");
        }
        sources.add(source);
      } catch (IOException unreadable) {
        faults.add("trace: " + written + " cannot be read: " + unreadable.getMessage());
      } catch (IllegalArgumentException malformed) {
        faults.add("trace: " + malformed.getMessage());
      }
    }
    return sources;
  }
}
