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
 * The workflow that splits prefill and decode between two workers where that costs less than one worker for both. A
 * prefill worker is chosen first. The decode worker is chosen with the prefill worker as {@link Partner}: each
 * candidate is scored by the cheaper of receiving the prompt's KV blocks and computing them itself. When the chosen
 * decode worker computes them itself, the prefill worker's load is cancelled, and the plan has one step.
 *
 * <p>When all decode workers that can receive from the chosen prefill worker are full, prefill workers of another
 * transfer domain are tried; when no split is possible, a worker that can do both is chosen.
 *
 * <ul>
 *   <li>{@code remote-prefill} (auto): auto, always or never.
 *   <li>{@code least-tokens} (256): with auto, a decode worker with fewer uncached tokens computes them itself.
 *   <li>{@code kappa} (3), {@code gamma} (0.3): with auto, the price of local prefill, as in the expected cost.
 *   <li>{@code on-prefill-failure} (next-candidate-then-without): policy when the prefill worker fails.
 *   <li>{@code prefill-deadline-ms} (60000): deadline of the prefill step, 0 for none.
 * </ul>
 */
final class PrefillDecodeWorkflow implements Workflow {
  /** The most transfer domains that are tried. */
  private static final int MAX_DOMAINS = 4;

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

  /** A factory for a workflow of more steps, under its name. */
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
  public PlanResult plan(PlanningSession session) {
    if (!Slots.requestShape(session.context()).divisible()) {
      return planLocal(session, PlanKind.INDIVISIBLE, null);
    }
    if (settings.terms.mode() == SplitMode.NEVER) {
      return planLocal(session, PlanKind.NEVER, null);
    }
    Set<TransferDomain> fullDomains = new HashSet<>();
    None missing = null;
    for (int attempt = 0; attempt < MAX_DOMAINS; attempt++) {
      session.context().put(Slots.PARTNER, Partner.avoiding(fullDomains));
      switch (session.select(prefill, Role.PREFILL)) {
        case None none -> {
          return planLocal(
              session,
              none.unmetNeed() == UnmetNeed.ROOM ? PlanKind.FULL : fullDomains.isEmpty() ? PlanKind.NO_WORKER
                  : PlanKind.FULL,
              missing == null ? none : missing);
        }
        case Chosen prefillWorker -> {
          session.context().put(Slots.PARTNER, prefillPartner(prefillWorker));
          switch (session.select(decode, Role.DECODE)) {
            case Chosen decodeWorker when !decodeWorker.readsPrompt() -> {
              counts.count(PlanKind.REMOTE);
              return splitPlan(prefillWorker, decodeWorker);
            }
            case Chosen decodeWorker -> {
              session.release(prefillWorker);
              return localPlan(decodeWorker, localKind(prefillWorker, decodeWorker));
            }
            case None none -> {
              session.release(prefillWorker);
              missing = none;
              fullDomains.add(domain(prefillWorker.worker()));
            }
          }
        }
      }
    }
    return planLocal(session, PlanKind.FULL, missing);
  }

  @Override
  public PlanResult replan(PlanningSession session, String step, Map<String, Worker> placed) {
    return switch (step) {
      case RoutingPlan.PREFILL -> replanPrefill(session, placed.get(RoutingPlan.DECODE));
      case RoutingPlan.DECODE -> replanDecode(session, placed.get(RoutingPlan.PREFILL));
      default -> plan(session);
    };
  }

  private PlanResult replanPrefill(PlanningSession session, @Nullable Worker decodeWorker) {
    session.context().put(Slots.PARTNER, decodeWorker == null ? Partner.NONE : Partner.ofDecode(decodeWorker));
    return switch (session.select(prefill, Role.PREFILL)) {
      case Chosen prefillWorker ->
          found(
              StepOrder.ofPrefillDecode(prefillWorker.worker()), List.of(prefillStep(prefillWorker, decodeWorker)),
              List.of(prefillWorker), prefillWorker.reason());
      case None none -> noPlan(none, null);
    };
  }

  private PlanResult replanDecode(PlanningSession session, @Nullable Worker prefillWorker) {
    Partner partner = prefillWorker == null ? Partner.NONE : Partner.ofPrefill(prefillWorker, 0, settings.terms);
    session.context().put(Slots.PARTNER, partner);
    return switch (session.select(decode, Role.DECODE)) {
      case Chosen decodeWorker -> {
        StepOrder order =
            decodeWorker.readsPrompt() ? StepOrder.SEQUENTIAL : StepOrder.ofPrefillDecode(decodeWorker.worker());
        yield found(
            order, List.of(decodeWorker.step(RoutingPlan.DECODE)), List.of(decodeWorker), decodeWorker.reason());
      }
      case None none -> noPlan(none, null);
    };
  }

  /** Plans one worker for prefill and decode. */
  private PlanResult planLocal(PlanningSession session, PlanKind kind, @Nullable None missing) {
    session.context().put(Slots.PARTNER, Partner.NONE);
    return switch (session.select(decode, Role.DECODE)) {
      case Chosen decodeWorker -> localPlan(decodeWorker, kind);
      case None none -> noPlan(none, missing);
    };
  }

  private PlanResult localPlan(Chosen decodeWorker, PlanKind kind) {
    counts.count(kind);
    return found(
        StepOrder.SEQUENTIAL,
        List.of(decodeWorker.step(RoutingPlan.DECODE)),
        List.of(decodeWorker),
        reason("prefill=local:" + kind.label(), decodeWorker));
  }

  private PlanResult splitPlan(Chosen prefillWorker, Chosen decodeWorker) {
    int uncached = decodeWorker.localBooking().uncachedTokens();
    long transferMs = Math.round(prefillPartner(prefillWorker).transferMs(decodeWorker.worker(), uncached));
    return found(
        StepOrder.ofPrefillDecode(prefillWorker.worker()),
        List.of(prefillStep(prefillWorker, decodeWorker.worker()), decodeWorker.step(RoutingPlan.DECODE)),
        List.of(prefillWorker, decodeWorker),
        reason(
            "prefill=" + prefillWorker.worker().id() + ':' + prefillWorker.depth() + '/' + prefillWorker.blocks()
                + prefillWorker.best() + prefillWorker.insteadOf() + "; cost=" + transferMs + "ms",
            decodeWorker));
  }

  private Step prefillStep(Chosen prefillWorker, @Nullable Worker decodeWorker) {
    return prefillWorker.step(RoutingPlan.PREFILL, onPrefillFailure(decodeWorker), settings.prefillDeadline);
  }

  /** The failure policy of the prefill step: it can be skipped only if the decode worker can compute the prompt. */
  private FailurePolicy onPrefillFailure(@Nullable Worker decodeWorker) {
    FailurePolicy policy = settings.onPrefillFailure;
    if (decodeWorker == null || decodeWorker.canPrefill()) {
      return policy;
    }
    return switch (policy) {
      case NEXT_CANDIDATE, NEXT_CANDIDATE_THEN_WITHOUT -> FailurePolicy.NEXT_CANDIDATE;
      case WITHOUT, FAIL -> FailurePolicy.FAIL;
    };
  }

  private Partner prefillPartner(Chosen prefillWorker) {
    double ms = prefillWorker.queueMs() + settings.terms.kappa() * prefillWorker.booking().prefillMicros() / 1e3;
    return Partner.ofPrefill(prefillWorker.worker(), ms, settings.terms);
  }

  private PlanKind localKind(Chosen prefillWorker, Chosen decodeWorker) {
    return !prefillWorker.worker().pairsWith(decodeWorker.worker())
        ? PlanKind.UNPAIRED
        : decodeWorker.localBooking().uncachedTokens() < settings.terms.minTokens() ? PlanKind.HELD : PlanKind.CHEAPER;
  }

  private PlanResult found(StepOrder order, List<Step> steps, List<Chosen> chosen, String reason) {
    return new PlanResult.PlanFound(new RoutingPlan(name, order, steps), chosen, reason);
  }

  /** No plan: neither one worker for both steps nor, if {@code missing} is given, a split was possible. */
  private static PlanResult noPlan(None none, @Nullable None missing) {
    if (missing == null) {
      return new PlanResult.NoPlan(none.unmetNeed(), none.detail());
    }
    UnmetNeed need = missing.unmetNeed() == UnmetNeed.ROOM ? UnmetNeed.ROOM : none.unmetNeed();
    return new PlanResult.NoPlan(need, "prefill and decode: " + missing.detail() + "; one for both: " + none.detail());
  }

  private String reason(String prompt, Chosen decodeWorker) {
    String reason =
        profile + "; " + prompt + "; depth=" + decodeWorker.depth() + '/' + decodeWorker.blocks() + "; cached="
            + decodeWorker.predictedCachedTokens() + '/' + decodeWorker.booking().promptTokens() + "; candidates="
            + decodeWorker.candidates() + decodeWorker.insteadOf();
    return reason.length() <= 160 ? reason : reason.substring(0, 160);
  }

  private static TransferDomain domain(Worker worker) {
    KvTransfer transfer = worker.kvTransfer();
    if (transfer == null) {
      throw new IllegalStateException("worker " + worker.id() + " cannot transfer and was chosen for prefill");
    }
    return transfer.domain();
  }
}
