package io.kvasir.lab;

import io.kvasir.lab.engine.EngineModel;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads what the laboratory is asked to do, and goes on after a fault, so that all are told at once. */
public final class LabPlanReader {
  private static final int MOST_WORKERS = 256;
  private static final double MOST_SCALE = 1e6;

  private final List<String> faults = new ArrayList<>();

  /**
   * What was asked for, as written.
   *
   * @param traces files, or generators as {@link Generators} names them
   * @param engine name of an engine model
   * @param workers how many engines, 1 to 256, as {@link Pools} are written
   * @param profiles built-in names, {@code all}, or files with profiles
   * @param scales loads, in multiples of each trace's own
   * @param seeds how often to repeat everything with other chance, at least 1
   * @param think whether turns of a conversation wait for the answer before them
   * @param index how the router learns of the caches, see {@link IndexMode}
   * @param coefficients what the router believes of engines, see {@link Coefficients}
   * @param slo what answers must keep to
   */
  public record LabOptions(
      List<String> traces,
      String engine,
      String workers,
      List<String> profiles,
      List<Double> scales,
      int seeds,
      boolean think,
      String index,
      String coefficients,
      Slo slo) {}

  /** The plan; null when {@link #faults} has something to say. */
  public @Nullable LabPlan read(LabOptions request) {
    @Nullable EngineModel engine = engine(request.engine());
    List<TraceSource> sources = sources(request, engine);
    Pools pools = pools(request.workers());
    List<LabPlan.ProfileChoice> profiles =
        ProfileChoices.read(request.profiles(), pools.both() < pools.size(), faults);
    if (request.seeds() < 1) {
      faults.add("seeds: must be at least 1, is " + request.seeds());
    }
    for (double scale : request.scales()) {
      if (!(scale > 0 && scale <= MOST_SCALE)) {
        faults.add("scale: must be more than 0, is " + scale);
      }
    }
    if (!(request.slo().ttftMs() > 0) || !(request.slo().tpotMs() > 0)) {
      faults.add("slo-ttft, slo-tpot: must be more than 0 milliseconds");
    }
    try {
      IndexMode.parse(request.index());
    } catch (IllegalArgumentException unknown) {
      faults.add("index: " + unknown.getMessage());
    }
    try {
      Coefficients coefficients = Coefficients.parse(request.coefficients());
      return faults.isEmpty() ? plan(request, pools, sources, profiles, coefficients) : null;
    } catch (IllegalArgumentException unknown) {
      faults.add("coefficients: " + unknown.getMessage());
      return null;
    }
  }

  /** All that is wrong, one plain sentence each, beginning with the option's name. */
  public List<String> faults() {
    return List.copyOf(faults);
  }

  private static LabPlan plan(
      LabOptions request,
      Pools pools,
      List<TraceSource> sources,
      List<LabPlan.ProfileChoice> profiles,
      Coefficients coefficients) {
    List<LabPlan.Run> runs = new ArrayList<>();
    for (TraceSource source : sources) {
      for (double scale : request.scales()) {
        for (LabPlan.ProfileChoice profile : profiles) {
          for (long seed = 1; seed <= request.seeds(); seed++) {
            runs.add(
                new LabPlan.Run(
                    source, request.engine(), pools, scale, seed, request.index(), coefficients,
                    profile, request.slo()));
          }
        }
      }
    }
    return new LabPlan(runs);
  }

  private Pools pools(String written) {
    try {
      Pools pools = Pools.parse(written);
      if (pools.size() < 1 || pools.size() > MOST_WORKERS) {
        faults.add("workers: must be 1 to " + MOST_WORKERS + ", is " + pools.size());
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

  private List<TraceSource> sources(LabOptions request, @Nullable EngineModel engine) {
    List<TraceSource> sources = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (String written : request.traces()) {
      try {
        TraceSource source =
            written.startsWith(Generators.PREFIX)
                ? Generators.parse(written)
                : TraceFile.read(Path.of(written), request.think(), engine);
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
