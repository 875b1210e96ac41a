package io.kvasir.routing.workflows;

import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.KvTransfer.TransferDomain;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.Partner;
import io.kvasir.routing.Partner.SplitMode;
import io.kvasir.routing.Partner.SplitTerms;
import io.kvasir.routing.PlanResult;
import io.kvasir.routing.PlanningSession;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.RoutingPlan.Step;
import io.kvasir.routing.RoutingPlan.StepOrder;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.routing.Selection.None;
import io.kvasir.routing.Selector;
import io.kvasir.routing.Slots;
import io.kvasir.routing.UnmetNeed;
import io.kvasir.routing.Worker;
import io.kvasir.routing.Workflow;
import io.kvasir.routing.WorkflowType;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One worker reads the prompt and another generates, where that costs less than to have the latter do both. A prefill
 * worker is chosen first. The decode worker is chosen in view of it: each candidate counts with the cheaper of taking
 * the prompt from there and reading it itself ({@link Partner}). When the choice falls on one that reads, the prefill
 * worker's load is given back, and the plan has one step.
 *
 * <p>When all decode workers that can take from the chosen prefill worker are full, the prefill workers of another
 * island are asked; when there is nobody to divide the prompt with, somebody who can do everything gets it.
 *
 * <ul>
 *   <li>{@code remote-prefill} (auto): auto, always or never.
 *   <li>{@code least-tokens} (256): with auto, a decode worker that lacks fewer tokens of the prompt reads them itself.
 *   <li>{@code kappa} (3), {@code gamma} (0.3): with auto, what reading costs, as in the expected cost.
 *   <li>{@code on-prefill-failure} (next-candidate-then-without): what to do when the prefill worker fails.
 *   <li>{@code prefill-deadline-ms} (60000): when it counts as failed, 0 for never.
 * </ul>
 */
final class PrefillDecodeWorkflow implements Workflow {
  /** How many islands are tried. */
  private static final int ISLANDS = 4;

  private final String name;
  private final Settings settings;
  private final Selector prefill;
  private final Selector decode;
  private final PlanCounts counts;
  private final String profile;

  /** The parameters of the workflow. */
  private record Settings(SplitTerms terms, FailurePolicy onPrefillFailure, @Nullable Duration prefillDeadline) {
    static Settings read(Parameters parameters) {
      SplitTerms terms =
          new SplitTerms(
              parameters.choice("remote-prefill", SplitMode.AUTO),
              parameters.whole("least-tokens", 256, 0, Integer.MAX_VALUE),
              parameters.number("kappa", 3, 0, 1e6),
              parameters.number("gamma", 0.3, 0, 1e6));
      FailurePolicy policy = parameters.choice("on-prefill-failure", FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
      int deadlineMs = parameters.whole("prefill-deadline-ms", 60_000, 0, Integer.MAX_VALUE);
      return new Settings(terms, policy, deadlineMs == 0 ? null : Duration.ofMillis(deadlineMs));
    }
  }

  private PrefillDecodeWorkflow(
      String name, Settings settings, String profile, Selector prefill, Selector decode, PlanCounts counts) {
    this.name = name;
    this.settings = settings;
    this.profile = profile;
    this.prefill = prefill;
    this.decode = decode;
    this.counts = counts;
  }

  static WorkflowType.Composer composer(Parameters parameters) {
    return composer(RoutingPlan.PREFILL_DECODE_WORKFLOW, parameters);
  }

  /** For a workflow of more steps, under its name. */
  static WorkflowType.Composer composer(String name, Parameters parameters) {
    Settings settings = Settings.read(parameters);
    return (profile, selectors, metrics) ->
        new PrefillDecodeWorkflow(
            name,
            settings,
            profile,
            selectors.apply(RoutingPlan.PREFILL),
            selectors.apply(RoutingPlan.DECODE),
            new PlanCounts(metrics, profile));
  }

  @Override
  public PlanResult plan(PlanningSession passes) {
    if (!Slots.requestShape(passes.context()).divisible()) {
      return alone(passes, PlanKind.INDIVISIBLE, null);
    }
    if (settings.terms.when() == SplitMode.NEVER) {
      return alone(passes, PlanKind.NEVER, null);
    }
    Set<TransferDomain> full = new HashSet<>();
    None without = null;
    for (int tries = 0; tries < ISLANDS; tries++) {
      passes.context().put(Slots.PARTNER, Partner.avoiding(full));
      switch (passes.select(prefill, Role.PREFILL)) {
        case None none -> {
          return alone(
              passes,
              none.unmetNeed() == UnmetNeed.ROOM ? PlanKind.FULL : full.isEmpty() ? PlanKind.NO_WORKER : PlanKind.FULL,
              without == null ? none : without);
        }
        case Chosen reader -> {
          passes.context().put(Slots.PARTNER, offered(reader));
          switch (passes.select(decode, Role.DECODE)) {
            case Chosen taker when !taker.readsPrompt() -> {
              counts.count(PlanKind.REMOTE);
              return divided(reader, taker);
            }
            case Chosen taker -> {
              passes.release(reader);
              return whole(taker, kind(reader, taker));
            }
            case None none -> {
              passes.release(reader);
              without = none;
              full.add(island(reader.worker()));
            }
          }
        }
      }
    }
    return alone(passes, PlanKind.FULL, without);
  }

  @Override
  public PlanResult replan(PlanningSession passes, String step, Map<String, Worker> placed) {
    return switch (step) {
      case RoutingPlan.PREFILL -> prefillAgain(passes, placed.get(RoutingPlan.DECODE));
      case RoutingPlan.DECODE -> decodeAgain(passes, placed.get(RoutingPlan.PREFILL));
      default -> plan(passes);
    };
  }

  private PlanResult prefillAgain(PlanningSession passes, @Nullable Worker taker) {
    passes.context().put(Slots.PARTNER, taker == null ? Partner.NONE : Partner.ofDecode(taker));
    return switch (passes.select(prefill, Role.PREFILL)) {
      case Chosen reader ->
          made(
              StepOrder.ofPrefillDecode(reader.worker()),
              List.of(prefillStep(reader, taker)),
              List.of(reader),
              reader.reason());
      case None none -> none(none, null);
    };
  }

  private PlanResult decodeAgain(PlanningSession passes, @Nullable Worker reader) {
    Partner partner = reader == null ? Partner.NONE : Partner.ofPrefill(reader, 0, settings.terms);
    passes.context().put(Slots.PARTNER, partner);
    return switch (passes.select(decode, Role.DECODE)) {
      case Chosen taker -> {
        StepOrder order = taker.readsPrompt() ? StepOrder.SEQUENTIAL : StepOrder.ofPrefillDecode(taker.worker());
        yield made(order, List.of(taker.step(RoutingPlan.DECODE)), List.of(taker), taker.reason());
      }
      case None none -> none(none, null);
    };
  }

  /** Somebody who can do everything. */
  private PlanResult alone(PlanningSession passes, PlanKind kind, @Nullable None missing) {
    passes.context().put(Slots.PARTNER, Partner.NONE);
    return switch (passes.select(decode, Role.DECODE)) {
      case Chosen taker -> whole(taker, kind);
      case None none -> none(none, missing);
    };
  }

  private PlanResult whole(Chosen taker, PlanKind kind) {
    counts.count(kind);
    return made(
        StepOrder.SEQUENTIAL,
        List.of(taker.step(RoutingPlan.DECODE)),
        List.of(taker),
        reason("prefill=local:" + kind.label(), taker));
  }

  private PlanResult divided(Chosen reader, Chosen taker) {
    int uncached = taker.reading().uncachedTokens();
    long takingMs = Math.round(offered(reader).transferMs(taker.worker(), uncached));
    return made(
        StepOrder.ofPrefillDecode(reader.worker()),
        List.of(prefillStep(reader, taker.worker()), taker.step(RoutingPlan.DECODE)),
        List.of(reader, taker),
        reason(
            "prefill=" + reader.worker().id() + ':' + reader.depth() + '/' + reader.blocks() + "; cost=" + takingMs
                + "ms",
            taker));
  }

  private Step prefillStep(Chosen reader, @Nullable Worker taker) {
    return reader.step(RoutingPlan.PREFILL, onPrefillFailure(taker), settings.prefillDeadline);
  }

  /** Going on without the step takes a decode worker that can. */
  private FailurePolicy onPrefillFailure(@Nullable Worker taker) {
    FailurePolicy policy = settings.onPrefillFailure;
    if (taker == null || taker.canPrefill()) {
      return policy;
    }
    return switch (policy) {
      case NEXT_CANDIDATE, NEXT_CANDIDATE_THEN_WITHOUT -> FailurePolicy.NEXT_CANDIDATE;
      case WITHOUT, FAIL -> FailurePolicy.FAIL;
    };
  }

  private Partner offered(Chosen reader) {
    double ms = reader.queueMs() + settings.terms.kappa() * reader.booking().prefillMicros() / 1e3;
    return Partner.ofPrefill(reader.worker(), ms, settings.terms);
  }

  private PlanKind kind(Chosen reader, Chosen taker) {
    return !reader.worker().pairsWith(taker.worker())
        ? PlanKind.UNPAIRED
        : taker.reading().uncachedTokens() < settings.terms.leastTokens() ? PlanKind.HELD : PlanKind.CHEAPER;
  }

  private PlanResult made(StepOrder order, List<Step> steps, List<Chosen> chosen, String reason) {
    return new PlanResult.PlanFound(new RoutingPlan(name, order, steps), chosen, reason);
  }

  /** What is missing: somebody who does everything, and before that, somebody to divide the prompt with. */
  private static PlanResult none(None none, @Nullable None missing) {
    if (missing == null) {
      return new PlanResult.NoPlan(none.unmetNeed(), none.detail());
    }
    UnmetNeed want = missing.unmetNeed() == UnmetNeed.ROOM ? UnmetNeed.ROOM : none.unmetNeed();
    return new PlanResult.NoPlan(want, "prefill and decode: " + missing.detail() + "; one for both: " + none.detail());
  }

  private String reason(String prompt, Chosen taker) {
    String reason =
        profile + "; " + prompt + "; depth=" + taker.depth() + '/' + taker.blocks() + "; cached="
            + taker.predictedCachedTokens() + '/' + taker.booking().promptTokens() + "; candidates="
            + taker.candidates();
    return reason.length() <= 160 ? reason : reason.substring(0, 160);
  }

  private static TransferDomain island(Worker worker) {
    KvTransfer transfer = worker.kvTransfer();
    if (transfer == null) {
      throw new IllegalStateException("worker " + worker.id() + " hands nothing over and was chosen for prefill");
    }
    return transfer.domain();
  }
}
