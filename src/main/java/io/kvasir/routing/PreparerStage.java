package io.kvasir.routing;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** A profile's prepare stage: its preparers, and the slots they fill that are transferred to the cell's home. */
final class PreparerStage {
  private final Set<Slot<?>> readSlots;
  private final Preparer[] preparers;
  private final Slot<?>[][] writtenSlots;
  private final Slot<?>[] transferable;

  /** A stage of {@code preparers}; {@code readSlots} are the slots that filters, scorers and the picker read. */
  PreparerStage(List<Preparer> preparers, Set<Slot<?>> readSlots) {
    this.readSlots = Set.copyOf(readSlots);
    this.preparers = preparers.toArray(Preparer[]::new);
    this.writtenSlots = new Slot<?>[this.preparers.length][];
    List<Slot<?>> transferred = new ArrayList<>();
    for (int i = 0; i < writtenSlots.length; i++) {
      writtenSlots[i] = this.preparers[i].writes().toArray(Slot<?>[]::new);
      for (Slot<?> slot : writtenSlots[i]) {
        // A decision request has tokens and chain in fields of their own; partners are made at the cell's home.
        if (readSlots.contains(slot)
            && !slot.equals(Slots.CHAIN)
            && !slot.equals(Slots.PROMPT_TOKENS)
            && !slot.equals(Slots.PARTNER)) {
          transferred.add(slot);
        }
      }
    }
    this.transferable = transferred.toArray(Slot<?>[]::new);
  }

  /** The stage of several profiles that decide about one request: a slot is filled by the first of its preparers. */
  static PreparerStage of(List<PreparerStage> stages) {
    List<Preparer> preparers = new ArrayList<>();
    Set<Slot<?>> read = new HashSet<>();
    for (PreparerStage stage : stages) {
      preparers.addAll(List.of(stage.preparers));
      read.addAll(stage.readSlots);
    }
    return new PreparerStage(preparers, read);
  }

  /** Whether any slot is transferred, so that requests must be prepared where they arrive. */
  boolean preparesOnArrival() {
    return transferable.length > 0;
  }

  PreparedSlots prepare(RoutingContext context) {
    for (int i = 0; i < preparers.length; i++) {
      if (!isFilled(context, i)) {
        preparers[i].prepare(context);
      }
    }
    return PreparedSlots.of(context, transferable);
  }

  /** Fills the slots that were not transferred, at the cell's home and without waiting. */
  void fillMissing(RoutingContext context) {
    if (isComplete(context)) {
      return;
    }
    for (int i = 0; i < preparers.length; i++) {
      if (!isFilled(context, i)) {
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
        && (context.has(Slots.PARTNER) || !readSlots.contains(Slots.PARTNER));
  }

  private boolean isFilled(RoutingContext context, int preparer) {
    for (Slot<?> slot : writtenSlots[preparer]) {
      if (!context.has(slot)) {
        return false;
      }
    }
    return true;
  }
}
