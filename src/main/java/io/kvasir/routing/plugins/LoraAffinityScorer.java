package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Worker;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Score of whether a worker's engine has the LoRA adapter loaded: 1 when it is among the last {@code adapters} (4, the
 * engine's {@code --max-loras}) that were requested there, 0.5 when there is room for one more, 0 when another would be
 * evicted. 0 for all when the request is for the base model.
 */
final class LoraAffinityScorer implements Scorer {
  private static final String[] NONE = new String[0];

  private final int adapters;
  /** The adapters last sent to each worker, the latest first; each array is replaced, never changed. */
  private final PerMembership<AtomicReferenceArray<String @Nullable []>> sent =
      new PerMembership<>(table -> new AtomicReferenceArray<>(table.length));

  LoraAffinityScorer(Parameters parameters) {
    this.adapters = parameters.whole("adapters", 4, 1, 256);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    if (!usesAdapter(context, candidates)) {
      Arrays.fill(out, 0, candidates.slots(), 0);
      return;
    }
    AtomicReferenceArray<String @Nullable []> fleet = sent.of(candidates);
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      String[] loaded = of(fleet, slot);
      out[slot] = indexOf(loaded, context.model()) >= 0 ? 1 : loaded.length < adapters ? 0.5 : 0;
    }
  }

  @Override
  public void onChosen(RoutingContext context, Candidates candidates, int slot) {
    if (!usesAdapter(context, candidates)) {
      return;
    }
    AtomicReferenceArray<String @Nullable []> fleet = sent.of(candidates);
    while (true) {
      String @Nullable [] before = fleet.get(slot);
      String[] loaded = before == null ? NONE : before;
      int at = indexOf(loaded, context.model());
      if (at == 0 || fleet.compareAndSet(slot, before, moveToFront(loaded, at, context.model()))) {
        return;
      }
    }
  }

  private String[] moveToFront(String[] loaded, int at, String model) {
    String[] updated = new String[at > 0 ? loaded.length : Math.min(loaded.length + 1, adapters)];
    updated[0] = model;
    int shifted = at > 0 ? at : updated.length - 1;
    System.arraycopy(loaded, 0, updated, 1, shifted);
    if (at > 0) {
      System.arraycopy(loaded, at + 1, updated, at + 1, loaded.length - at - 1);
    }
    return updated;
  }

  private static String[] of(AtomicReferenceArray<String @Nullable []> fleet, int slot) {
    String @Nullable [] loaded = fleet.get(slot);
    return loaded == null ? NONE : loaded;
  }

  private static int indexOf(String[] loaded, String model) {
    for (int i = 0; i < loaded.length; i++) {
      if (loaded[i].equals(model)) {
        return i;
      }
    }
    return -1;
  }

  /** Workers of a cell share a base model, their first. */
  private static boolean usesAdapter(RoutingContext context, Candidates candidates) {
    int any = candidates.next(0);
    Worker worker = any < 0 ? null : candidates.workers[any];
    return worker != null && !worker.models().isEmpty() && !worker.models().iterator().next().equals(context.model());
  }

  @Override
  public Direction direction() {
    return Direction.HIGHER;
  }
}
