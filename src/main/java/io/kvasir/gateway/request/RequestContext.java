package io.kvasir.gateway.request;

import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.index.Chain;
import io.kvasir.routing.InvalidRoutingHintException;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.Profile;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slots;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The context of a request on the node where it arrived, and its profile.
 *
 * @param model as the request names it
 * @param facts its headers and body as plugins read them
 * @param late is given the name of a profile whose preparers went on without what they waited for
 */
public record RequestContext(Profile profile, String model, HttpRequestFacts facts, Consumer<String> late) {
  /** Has the profile's preparers find out what its cell will ask for. Waits as long as they do. */
  PreparedSlots prepare(String requestId, Chain chain, int tokens) throws ApiException {
    if (!profile.preparesOnArrival()) {
      return PreparedSlots.EMPTY;
    }
    RoutingContext context =
        new RoutingContext(requestId, model, Role.BOTH, Set.of())
            .put(Slots.FACTS, facts)
            .put(Slots.CHAIN, chain)
            .put(Slots.PROMPT_TOKENS, (long) tokens);
    PreparedSlots prepared;
    try {
      prepared = profile.prepare(context);
    } catch (InvalidRoutingHintException unfit) {
      throw new ApiException(ApiError.of(400, "unfit_routing", String.valueOf(unfit.getMessage())));
    }
    if (context.missedLookups() > 0) {
      late.accept(profile.name());
    }
    return prepared;
  }
}
