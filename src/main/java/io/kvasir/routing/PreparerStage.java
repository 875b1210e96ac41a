package io.kvasir.routing;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** A profile's first stage: its preparers, and which of the slots they fill somebody at the cell's home reads. */
final class PreparerStage {
  private final Set<Slot<?>> readLater;
  private final Preparer[] preparers;
  private final Slot<?>[][] fills;
  private final Slot<?>[] transferable;

  /** {@code readLater} are the slots that filters, scorers and the picker read. */
  PreparerStage(List<Preparer> preparers, Set<Slot<?>> readLater) {
    this.readLater = Set.copyOf(readLater);
    this.preparers = preparers.toArray(Preparer[]::new);
    this.fills = new Slot<?>[this.preparers.length][];
    List<Slot<?>> cross = new ArrayList<>();
    for (int i = 0; i < fills.length; i++) {
      fills[i] = this.preparers[i].writes().toArray(Slot<?>[]::new);
      for (Slot<?> slot : fills[i]) {
        // Tokens and chain are parts of the request of their own: every decision needs them. Partners are at home.
        if (readLater.contains(slot)
            && !slot.equals(Slots.CHAIN)
            && !slot.equals(Slots.PROMPT_TOKENS)
            && !slot.equals(Slots.PARTNER)) {
          cross.add(slot);
        }
      }
    }
    this.transferable = cross.toArray(Slot<?>[]::new);
  }

  /** The preparation of a request that several profiles will decide about: what one fills the others find. */
  static PreparerStage of(List<PreparerStage> all) {
    List<Preparer> preparers = new ArrayList<>();
    Set<Slot<?>> read = new HashSet<>();
    for (PreparerStage one : all) {
      preparers.addAll(List.of(one.preparers));
      read.addAll(one.readLater);
    }
    return new PreparerStage(preparers, read);
  }

  /** Whether preparing where a request arrives is of use to anybody. */
  boolean isUseful() {
    return transferable.length > 0;
  }

  PreparedSlots prepare(RoutingContext context) {
    for (int i = 0; i < preparers.length; i++) {
      if (!filled(context, i)) {
        preparers[i].prepare(context);
      }
    }
    return PreparedSlots.of(context, transferable);
  }

  /** At the cell's home: fills what others read, where it did not come filled. */
  void fillMissing(RoutingContext context) {
    if (isComplete(context)) {
      return;
    }
    for (int i = 0; i < preparers.length; i++) {
      if (!filled(context, i)) {
        preparers[i].prepareWithoutWaiting(context);
      }
    }
  }

  private boolean isComplete(RoutingContext context) {
    for (Slot<?> slot : transferable) {
      if (!context.has(slot)) {
        return false;
      }
    }
    return context.has(Slots.CHAIN)
        && context.has(Slots.PROMPT_TOKENS)
        && (context.has(Slots.PARTNER) || !readLater.contains(Slots.PARTNER));
  }

  private boolean filled(RoutingContext context, int preparer) {
    for (Slot<?> slot : fills[preparer]) {
      if (!context.has(slot)) {
        return false;
      }
    }
    return true;
  }
}
