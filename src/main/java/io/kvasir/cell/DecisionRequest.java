package io.kvasir.cell;

import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Everything a decision needs to know of a request: small enough to cross the cluster in one message.
 *
 * @param requestId the client's or our own
 * @param model as the request names it
 * @param profile name of the profile it goes by, null for the standard one of the cell's home
 * @param shape what the request asks for, as far as that decides how many workers it takes
 * @param chain the prompt's blocks; empty when nothing is known of the prompt
 * @param promptTokens tokens of the prompt, estimated where they could not be counted
 * @param prepared what the profile's preparers found out where the request arrived
 * @param excluded ids of workers that already failed this request
 * @param stream whether the answer is to come token by token, so that silence may mean that the worker has stalled
 * @param replacement the one step that is to be replanned, null for a whole plan
 */
public record DecisionRequest(
    String requestId,
    String model,
    @Nullable String profile,
    RequestShape shape,
    Chain chain,
    int promptTokens,
    PreparedSlots prepared,
    Set<String> excluded,
    boolean stream,
    @Nullable StepReplacement replacement) {

  /**
   * One step of a plan whose worker failed, while the others keep theirs.
   *
   * @param step its name
   * @param placed ids of the workers of the plan's other steps, by the steps' names
   */
  public record StepReplacement(String step, Map<String, String> placed) {}

  /** The same request for a whole plan, without workers that failed it. */
  public DecisionRequest without(Set<String> failed) {
    return with(failed, null);
  }

  /** The same request for one step of a plan. */
  public DecisionRequest replacing(StepReplacement step, Set<String> failed) {
    return with(failed, step);
  }

  /** The same request as one that a single worker has to serve. */
  public DecisionRequest onSingleWorker() {
    return new DecisionRequest(
        requestId, model, profile, new RequestShape(false, shape.mediaItems()), chain, promptTokens, prepared,
        excluded, stream,
        null);
  }

  /** The same request for a whole plan, with a prompt that has grown. */
  public DecisionRequest withPromptTokens(int tokens) {
    return new DecisionRequest(
        requestId, model, profile, shape, chain, promptTokens + tokens, prepared, excluded, stream, null);
  }

  private DecisionRequest with(Set<String> failed, @Nullable StepReplacement step) {
    return new DecisionRequest(
        requestId, model, profile, shape, chain, promptTokens, prepared, Set.copyOf(failed), stream, step);
  }
}
