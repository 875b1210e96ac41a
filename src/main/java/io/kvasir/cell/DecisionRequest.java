package io.kvasir.cell;

import io.kvasir.admission.Claim;
import io.kvasir.admission.ServiceClass;
import io.kvasir.index.Chain;
import io.kvasir.index.Rendition;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A request for a decision: everything that it needs to know of a client's request, small enough to cross the cluster
 * in one message. Immutable.
 *
 * @param requestId the client's or our own
 * @param model as the request names it
 * @param profile name of the profile it goes by, null for the standard one of the cell's home
 * @param shape what the request asks for, as far as that decides how many workers it takes
 * @param prompt the prompt's blocks and size
 * @param prepared what the profile's preparers found out where the request arrived
 * @param stream whether the answer is to come token by token, so that silence may mean that the worker has stalled
 * @param constraints what earlier failures leave to choose from
 * @param traceId of its trace, 32 hexadecimal digits; null for a request that is in none, and from a node of an earlier
 *     version
 * @param claim by which it waits when the workers are full; null for one that never waits, and from a node of an
 *     earlier version
 */
public record DecisionRequest(
    String requestId,
    String model,
    @Nullable String profile,
    RequestShape shape,
    Prompt prompt,
    PreparedSlots prepared,
    boolean stream,
    Constraints constraints,
    @Nullable String traceId,
    @Nullable Claim claim) {
  /** A request that never waits. */
  public DecisionRequest(
      String requestId,
      String model,
      @Nullable String profile,
      RequestShape shape,
      Prompt prompt,
      PreparedSlots prepared,
      boolean stream,
      Constraints constraints,
      @Nullable String traceId) {
    this(requestId, model, profile, shape, prompt, prepared, stream, constraints, traceId, null);
  }

  /** A request that is in no trace, and never waits. */
  public DecisionRequest(
      String requestId,
      String model,
      @Nullable String profile,
      RequestShape shape,
      Prompt prompt,
      PreparedSlots prepared,
      boolean stream,
      Constraints constraints) {
    this(requestId, model, profile, shape, prompt, prepared, stream, constraints, null, null);
  }

  /**
   * A prompt, as far as decisions need it.
   *
   * @param chain its blocks, as most engines prepare it; empty when nothing is known of it
   * @param tokens its tokens, estimated where they could not be counted
   * @param renditions the same for engines that prepare it otherwise; none from a node of an earlier version
   * @param tokensFrom how its tokens were found, such as {@code exact}, for the records of decisions; null where that
   *     is not known, and from a node of an earlier version
   */
  public record Prompt(Chain chain, int tokens, List<Rendition> renditions, @Nullable String tokensFrom) {
    /** Copies the list, which a node of an earlier version has not sent. */
    public Prompt {
      renditions = copy(renditions);
    }

    /** A prompt whose tokens were found somehow. */
    public Prompt(Chain chain, int tokens, List<Rendition> renditions) {
      this(chain, tokens, renditions, null);
    }

    /** A prompt that all engines prepare alike. */
    public Prompt(Chain chain, int tokens) {
      this(chain, tokens, List.of());
    }

    private static List<Rendition> copy(@Nullable List<Rendition> renditions) {
      return renditions == null ? List.of() : List.copyOf(renditions);
    }

    /** The number of its blocks, those of all renditions. */
    public int blocks() {
      int blocks = chain.length();
      for (Rendition rendition : renditions) {
        blocks += rendition.chain().length();
      }
      return blocks;
    }

    private Prompt grownBy(int more) {
      return new Prompt(
          chain, tokens + more,
          renditions.stream()
              .map(each -> new Rendition(each.preparation(), each.chain(), each.tokens() + more))
              .toList(),
          tokensFrom);
    }
  }

  /**
   * What earlier failures of the request leave to choose from.
   *
   * @param excluded ids of workers that already failed it
   * @param replacement the one step that is to be replanned, null for a whole plan
   */
  public record Constraints(Set<String> excluded, @Nullable StepReplacement replacement) {
    /** Every worker may be chosen, for a whole plan. */
    public static final Constraints NONE = new Constraints(Set.of(), null);

    /** Every worker but some may be chosen, for a whole plan. */
    public static Constraints excluding(Set<String> workers) {
      return new Constraints(workers, null);
    }
  }

  /**
   * One step of a plan whose worker failed, while the others keep theirs.
   *
   * @param step its name
   * @param placed ids of the workers of the plan's other steps, by the steps' names
   */
  public record StepReplacement(String step, Map<String, String> placed) {}

  /** How urgent it is. */
  public ServiceClass serviceClass() {
    return claim == null ? ServiceClass.DEFAULT : claim.serviceClass();
  }

  /** The same request with another claim. */
  public DecisionRequest claiming(@Nullable Claim other) {
    return new DecisionRequest(
        requestId, model, profile, shape, prompt, prepared, stream, constraints, traceId, other);
  }

  /** The same request as one that is not taken back from its worker. */
  public DecisionRequest unpreemptible() {
    return claim == null || claim.mostPreemptions() == 0 ? this : claiming(claim.preemptible(0));
  }

  /** The same request after it was taken back from its worker, so many milliseconds after it was sent to be decided. */
  public DecisionRequest preempted(long millis) {
    return claiming(Objects.requireNonNull(claim, "only a request with a claim is taken back").preempted(millis));
  }

  /** Whether it waits for its turn where its cell has waiting rooms. */
  public boolean waitsForTurn() {
    return claim != null;
  }

  /** The same request as one that began to wait so many milliseconds earlier, and is not taken back from its worker. */
  public DecisionRequest waitingSince(long millisAgo) {
    Claim its = Objects.requireNonNull(claim, "only a request with a claim waits");
    return claiming(its.waited(its.waitedMillis() + millisAgo)).unpreemptible();
  }

  /** How long it has waited for its turn before. */
  public long waitedMillis() {
    return claim == null ? 0 : claim.waitedMillis();
  }

  /** How long it had waited, and been at workers, when it was last taken back from one; 0 when it never was. */
  public long preemptedMillis() {
    return claim == null || claim.preemptions() == 0 ? 0 : claim.waitedMillis();
  }

  /** The same request for a whole plan, without workers that failed it. */
  public DecisionRequest without(Set<String> failed) {
    return with(shape, prompt, Constraints.excluding(Set.copyOf(failed)));
  }

  /** The same request for one step of a plan. */
  public DecisionRequest replacing(StepReplacement step, Set<String> failed) {
    return with(shape, prompt, new Constraints(Set.copyOf(failed), step));
  }

  /** The same request as one that a single worker has to serve. */
  public DecisionRequest onSingleWorker() {
    return with(shape.indivisible(), prompt, Constraints.excluding(constraints.excluded));
  }

  /** The same request for a whole plan, with a prompt that has grown by some tokens. */
  public DecisionRequest withPromptTokens(int tokens) {
    return with(shape, prompt.grownBy(tokens), Constraints.excluding(constraints.excluded));
  }

  /** The same request as one of another model, of whose blocks nothing is known, without some workers. */
  public DecisionRequest ofModel(String other, Set<String> excluded) {
    return new DecisionRequest(
        requestId, other, profile, shape, new Prompt(Chain.EMPTY, prompt.tokens), PreparedSlots.EMPTY, stream,
        Constraints.excluding(Set.copyOf(excluded)));
  }

  /** The same request with other prepared slots. */
  public DecisionRequest withPrepared(PreparedSlots slots) {
    return new DecisionRequest(
        requestId, model, profile, shape, prompt, slots, stream, constraints, traceId, claim);
  }

  private DecisionRequest with(RequestShape newShape, Prompt newPrompt, Constraints newConstraints) {
    return new DecisionRequest(
        requestId, model, profile, newShape, newPrompt, prepared, stream, newConstraints, traceId, claim);
  }
}
