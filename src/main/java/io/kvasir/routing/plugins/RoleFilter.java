package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.UnmetNeed;
import java.util.EnumMap;
import java.util.Map;

/** Keeps the workers whose role permits the step that is being decided. */
final class RoleFilter implements Filter {
  private final PerMembership<Map<Role, long[]>> permitted =
      new PerMembership<>(
          table -> {
            Map<Role, long[]> byRole = new EnumMap<>(Role.class);
            for (Role step : Role.values()) {
              byRole.put(step, Bitmaps.of(table, worker -> worker.role().takes(step)));
            }
            return byRole;
          });

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    Bitmaps.keep(candidates, permitted.of(candidates).getOrDefault(context.role(), Bitmaps.NONE));
  }

  @Override
  public UnmetNeed unmetNeed() {
    return UnmetNeed.ROLE;
  }
}
