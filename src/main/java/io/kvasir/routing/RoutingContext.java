package io.kvasir.routing;

import io.kvasir.time.NanoClock;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.SequencedMap;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * One request while it is routed: its facts, and the slots plugins fill for one another. Made where the
 * request arrives, and again at its cell's home from what crossed. Used by one thread at a time.
 */
public final class RoutingContext {
  /** Stands in {@link #values} for a number that is kept in {@link #numbers}. */
  private static final Object IN_NUMBERS = new Object();

  private final String requestId;
  private final String model;
  private Role role;
  private final Set<String> excluded;
  private @Nullable Object[] values;
  private long[] numbers;
  private @Nullable RandomGenerator random;
  private @Nullable NanoClock clock;
  private boolean dryRun;
  private int missedLookups;
  private @Nullable SequencedMap<String, String> notes;

  /**
   * A request of which nothing has been prepared.
   *
   * @param requestId the client's or our own
   * @param model as the request names it, a LoRA adapter's name included
   * @param role what the chosen worker will have to do; a workflow says it anew for each of its passes
   * @param excluded ids of workers that already failed this request
   */
  public RoutingContext(String requestId, String model, Role role, Set<String> excluded) {
    this.requestId = requestId;
    this.model = model;
    this.role = role;
    this.excluded = excluded;
    this.values = new @Nullable Object[Slot.count()];
    this.numbers = new long[Slot.numbers()];
  }

  /** The client's id of the request, or our own. */
  public String requestId() {
    return requestId;
  }

  /** The model as the request names it. */
  public String model() {
    return model;
  }

  /** What the chosen worker will have to do. */
  public Role role() {
    return role;
  }

  /** Ids of workers that already failed this request. */
  public Set<String> excluded() {
    return excluded;
  }

  /** Whether a slot has been filled. */
  public boolean has(Slot<?> slot) {
    return slot.index < values.length && values[slot.index] != null;
  }

  /** Fills a slot. */
  public <T> RoutingContext put(Slot<T> slot, T value) {
    if (value instanceof Long number) {
      return number(slot, number);
    }
    room(slot);
    values[slot.index] = value;
    return this;
  }

  /** Fills a number slot without boxing. */
  public RoutingContext put(Slot<Long> slot, long value) {
    return number(slot, value);
  }

  /**
   * What a slot holds.
   *
   * @throws IllegalStateException when nothing has filled it, which a compiled profile rules out for the
   *     slots a plugin declares
   */
  public <T> T get(Slot<T> slot) {
    Object value = filled(slot);
    return slot.cast(slot.isNumber() ? (Object) numbers[slot.numberIndex] : value);
  }

  /** What a number slot holds, without boxing; throws as {@link #get} does. */
  public long number(Slot<Long> slot) {
    filled(slot);
    return numbers[slot.numberIndex];
  }

  /** What the request says of itself: {@link RequestFacts#NONE} but where it arrived. */
  public RequestFacts facts() {
    return has(Slots.FACTS) ? get(Slots.FACTS) : RequestFacts.NONE;
  }

  /** How many answers came too late, or not at all, so that preparers had to do with what they say for that case. */
  public int missedLookups() {
    return missedLookups;
  }

  void noteMissedLookup() {
    missedLookups++;
  }

  /**
   * Says something in the decision's reason, as {@code about=said}: what decided, what could not be heeded. What was
   * said before about the same is replaced. For filters, scorers and pickers.
   *
   * @param about printable ASCII without semicolons, as is {@code said}
   */
  public void note(String about, String said) {
    if (notes == null) {
      notes = new LinkedHashMap<>();
    }
    notes.put(about, said);
  }

  /** What plugins have noted, to follow a reason: empty, or {@code ; about=said} for each note. */
  String notes() {
    if (notes == null) {
      return "";
    }
    StringBuilder text = new StringBuilder();
    notes.forEach((about, said) -> text.append("; ").append(about).append('=').append(said));
    return text.toString();
  }

  /** The randomness of this decision, seeded by the selector. For scorers and pickers. */
  public RandomGenerator random() {
    if (random == null) {
      throw new IllegalStateException("there is no randomness before a selector has taken the request");
    }
    return random;
  }

  /** Nanoseconds from any origin, for scorers and pickers that remember for a time. */
  public long nanos() {
    if (clock == null) {
      throw new IllegalStateException("there is no clock before a selector has taken the request");
    }
    return clock.nanos();
  }

  /** Whether the decision is only looked at: nothing is booked, and no plugin remembers it. */
  public boolean dryRun() {
    return dryRun;
  }

  /** The next pass is for another role. */
  void setRole(Role of) {
    this.role = of;
  }

  void begin(RandomGenerator randomness, NanoClock nanoClock, boolean isDryRun) {
    this.random = randomness;
    this.clock = nanoClock;
    this.dryRun = isDryRun;
  }


  private Object filled(Slot<?> slot) {
    Object value = slot.index < values.length ? values[slot.index] : null;
    if (value == null) {
      throw new IllegalStateException(
          "slot \"" + slot + "\" is empty: a plugin that reads it must declare so in reads()");
    }
    return value;
  }

  private RoutingContext number(Slot<?> slot, long value) {
    room(slot);
    values[slot.index] = IN_NUMBERS;
    numbers[slot.numberIndex] = value;
    return this;
  }

  /** A plugin's class, and so its slots, may have been loaded after this context was made. */
  private void room(Slot<?> slot) {
    if (slot.index >= values.length) {
      values = Arrays.copyOf(values, Slot.count());
    }
    if (slot.numberIndex >= numbers.length) {
      numbers = Arrays.copyOf(numbers, Slot.numbers());
    }
  }
}
