package io.kvasir.routing;

import io.kvasir.index.Chain;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The slot values that preparers have filled on the node where a request arrived, by slot name, for transfer to the
 * request's cell. Plain values, so that any serialisation can carry them. Immutable.
 *
 * @param texts values of text slots, and of other slots in their text form
 * @param numbers values of number slots
 * @param chains values of chain slots
 */
public record PreparedSlots(Map<String, String> texts, Map<String, Long> numbers, Map<String, Chain> chains) {
  /** No values: nothing was prepared, or no plugin at the cell reads it. */
  public static final PreparedSlots EMPTY = new PreparedSlots(null, null, null);

  /** Prepared slots; parts that are null, since a node of another version did not send them, become empty. */
  public PreparedSlots(
      @Nullable Map<String, String> texts, @Nullable Map<String, Long> numbers, @Nullable Map<String, Chain> chains) {
    this.texts = texts == null ? Map.of() : texts;
    this.numbers = numbers == null ? Map.of() : numbers;
    this.chains = chains == null ? Map.of() : chains;
  }

  /** The values of slots, each of which {@link Slot#isTransferable} and has been filled. */
  static PreparedSlots of(RoutingContext context, Slot<?>[] slots) {
    Map<String, String> texts = HashMap.newHashMap(slots.length);
    Map<String, Long> numbers = HashMap.newHashMap(slots.length);
    Map<String, Chain> chains = HashMap.newHashMap(slots.length);
    for (Slot<?> slot : slots) {
      switch (transferred(context, slot)) {
        case String text -> texts.put(slot.name(), text);
        case Long number -> numbers.put(slot.name(), number);
        case Chain chain -> chains.put(slot.name(), chain);
        case Object other ->
            throw new IllegalStateException(
                "slot \"" + slot + "\" holds " + other.getClass() + ", which cannot be transferred");
      }
    }
    return new PreparedSlots(texts, numbers, chains);
  }

  /** These slots and another text. */
  public PreparedSlots with(Slot<String> slot, String text) {
    Map<String, String> more = new HashMap<>(texts);
    more.put(slot.name(), text);
    return new PreparedSlots(more, numbers, chains);
  }

  /** These slots and another number. */
  public PreparedSlots with(Slot<Long> slot, long number) {
    Map<String, Long> more = new HashMap<>(numbers);
    more.put(slot.name(), number);
    return new PreparedSlots(texts, more, chains);
  }

  private static <T> Object transferred(RoutingContext context, Slot<T> slot) {
    return slot.toTransferred(context.get(slot));
  }

  /** The value of a slot, null when it was not transferred. */
  public <T> @Nullable T get(Slot<T> slot) {
    Object transferred = texts.get(slot.name());
    if (transferred == null) {
      transferred = numbers.get(slot.name());
    }
    if (transferred == null) {
      transferred = chains.get(slot.name());
    }
    return transferred == null ? null : slot.fromTransferred(transferred);
  }

  /** Fills the slots of {@code context}. Slots that this node does not know are skipped. */
  public void restoreInto(RoutingContext context) {
    fill(context, texts);
    fill(context, numbers);
    fill(context, chains);
  }

  private static void fill(RoutingContext context, Map<String, ?> values) {
    if (values.isEmpty()) {
      return;
    }
    values.forEach((name, value) -> {
      Slot<?> slot = Slot.named(name);
      if (slot != null) {
        fill(context, slot, value);
      }
    });
  }

  private static <T> void fill(RoutingContext context, Slot<T> slot, Object transferred) {
    T value = slot.fromTransferred(transferred);
    if (value != null) {
      context.put(slot, value);
    }
  }
}
