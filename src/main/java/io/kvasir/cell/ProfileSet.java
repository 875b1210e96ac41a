package io.kvasir.cell;

import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.Profile;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.Selector;
import io.kvasir.routing.Workflow;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * The profiles cells decide by.
 *
 * @param live the profiles, and which of them is the standard one
 * @param costs what prompts cost engines
 * @param outputs how long answers are; fed by outcomes
 * @param metrics where selectors count
 */
public record ProfileSet(LiveProfiles live, CostModel costs, OutputLengths outputs, RoutingMetrics metrics) {

  /** Learns from a request to a model that is over. */
  public void requestEnded(String model, Outcome outcome) {
    if (outcome instanceof Outcome.Completed completed && completed.outputTokens() > 0) {
      outputs.observe(model, completed.outputTokens());
    }
  }

  /** How each profile decides, for one cell: what a plugin remembers belongs to the cell. */
  public CellWorkflows workflows() {
    return new CellWorkflows(this);
  }

  /**
   * One cell's workflows. They follow the profiles as they are reloaded: the workflow of a profile that is the same
   * object as before stays, with what its plugins remember. Thread-safe; a decision waits only for the making of new
   * workflows after a reload.
   */
  public static final class CellWorkflows {
    private final ProfileSet set;
    private volatile CompiledWorkflows compiled;

    private record CompiledWorkflows(Profiles of, Map<String, Workflow> byName, Workflow standard) {}

    private CellWorkflows(ProfileSet set) {
      this.set = set;
      this.compiled = make(set.live.current(), null);
    }

    /** The workflow of that profile; the standard one's when the name is null, or none of this node's profiles. */
    public Workflow of(@Nullable String profile) {
      CompiledWorkflows now = current();
      if (profile == null) {
        return now.standard;
      }
      Workflow workflow = now.byName.get(profile);
      if (workflow == null) {
        set.metrics.unknownProfile();
        return now.standard;
      }
      return workflow;
    }

    @SuppressWarnings("ReferenceEquality") // profiles are replaced, never changed
    private CompiledWorkflows current() {
      CompiledWorkflows now = compiled;
      return now.of == set.live.current() ? now : renew();
    }

    @SuppressWarnings("ReferenceEquality")
    private synchronized CompiledWorkflows renew() {
      Profiles current = set.live.current();
      if (compiled.of != current) {
        compiled = make(current, compiled);
      }
      return compiled;
    }

    @SuppressWarnings("ReferenceEquality")
    private CompiledWorkflows make(Profiles profiles, @Nullable CompiledWorkflows before) {
      Map<String, Workflow> workflows = new HashMap<>();
      profiles.byName().forEach((name, profile) -> {
        Workflow old = before != null && before.of.named(name) == profile ? before.byName.get(name) : null;
        workflows.put(name, old != null ? old : profile.workflow(this::selector, set.metrics));
      });
      Workflow standard = workflows.get(profiles.choice().standard());
      if (standard == null) {
        throw new IllegalStateException("profiles without the standard one");
      }
      return new CompiledWorkflows(profiles, workflows, standard);
    }

    private Selector selector(Profile profile) {
      return new Selector(profile, set.costs, new SplittableRandom(), set.metrics, System::nanoTime);
    }
  }
}
