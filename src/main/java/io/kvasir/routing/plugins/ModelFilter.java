package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.UnmetNeed;
import io.kvasir.routing.Worker;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

/** Keeps the workers that serve the request's model or LoRA adapter. */
final class ModelFilter implements Filter {
  private final PerMembership<Map<String, long[]>> serving =
      new PerMembership<>(
          table -> {
            TreeSet<String> models = new TreeSet<>();
            for (Worker worker : table) {
              if (worker != null) {
                models.addAll(worker.models());
              }
            }
            Map<String, long[]> byModel = new HashMap<>();
            for (String model : models) {
              byModel.put(model, Bitmaps.of(table, worker -> worker.models().contains(model)));
            }
            return byModel;
          });

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    Bitmaps.keep(candidates, serving.of(candidates).getOrDefault(context.model(), Bitmaps.NONE));
  }

  @Override
  public UnmetNeed unmetNeed() {
    return UnmetNeed.MODEL;
  }
}
