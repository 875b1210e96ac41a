package io.kvasir.gateway;

import io.kvasir.index.Chain;
import io.kvasir.routing.Prepared;
import io.kvasir.routing.Profile;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slots;
import io.kvasir.routing.UnfitRequestException;
import java.util.Set;

/**
 * A request where it arrived, and the profile it goes by.
 *
 * @param model as the request names it
 * @param facts what it says of itself
 */
record Arrival(Profile profile, String model, ArrivalFacts facts, GatewayMetrics metrics) {
  /** Has the profile's preparers find out what its cell will ask for. Waits as long as they do. */
  Prepared prepare(String requestId, Chain chain, int tokens) throws ApiException {
    if (!profile.preparesOnArrival()) {
      return Prepared.NOTHING;
    }
    RoutingContext context =
        new RoutingContext(requestId, model, Role.BOTH, Set.of())
            .put(Slots.FACTS, facts)
            .put(Slots.CHAIN, chain)
            .put(Slots.PROMPT_TOKENS, (long) tokens);
    Prepared prepared;
    try {
      prepared = profile.prepare(context);
    } catch (UnfitRequestException unfit) {
      throw new ApiException(ApiError.of(400, "unfit_routing", String.valueOf(unfit.getMessage())));
    }
    if (context.late() > 0) {
      metrics.preparedLate(profile.name());
    }
    return prepared;
  }
}
