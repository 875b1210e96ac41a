package io.kvasir.routing;

import io.kvasir.index.Rendition;
import io.kvasir.time.NanoClock;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The context of one request's routing: its model, role and the slots through which plugins exchange values. Made on
 * the node where the request arrives, and again at its cell's home from the transferred slots. Used by one thread at a
 * time.
 */
public final class RoutingContext {
  /** Marks an entry of {@link #values} whose number is in {@link #numbers}. */
  private static final Object IN_NUMBERS = new Object();

  private final String requestId;
  private final String model;
  private Role role;
  private final Set<String> excluded;
  private @Nullable Object[] values;
  private long[] numbers;
  private @Nullable RandomGenerator random;
  private @Nullable NanoClock clock;
  private @Nullable QueueLimit queueLimit;
  private List<Rendition> renditions = List.of();
  private boolean dryRun;
  private int missedLookups;
  private @Nullable SequencedMap<String, String> notes;

  /**
   * A context without slots.
   *
   * @param requestId the client's id of the request, or a generated one
   * @param model the model as the request names it, which may be a LoRA adapter
   * @param role role of the step to decide; a workflow sets it for each of its passes
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

  /** The client's id of the request, or a generated one. */
  public String requestId() {
    return requestId;
  }

  /** The model as the request names it. */
  public String model() {
    return model;
  }

  /** The role of the step that is being decided. */
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
      return putNumber(slot, number);
    }
    ensureCapacity(slot);
    values[slot.index] = value;
    return this;
  }

  /** Fills a number slot without boxing. */
  public RoutingContext put(Slot<Long> slot, long value) {
    return putNumber(slot, value);
  }

  /**
   * The value of a slot.
   *
   * @throws IllegalStateException when the slot is empty, which a compiled profile rules out for the slots that a
   *     plugin declares
   */
  public <T> T get(Slot<T> slot) {
    Object value = stored(slot);
    return slot.cast(slot.isNumber() ? (Object) numbers[slot.numberIndex] : value);
  }

  /** The value of a number slot, without boxing; throws as {@link #get} does. */
  public long number(Slot<Long> slot) {
    stored(slot);
    return numbers[slot.numberIndex];
  }

  /** The request's facts where it arrived, {@link RequestFacts#NONE} elsewhere. */
  public RequestFacts facts() {
    return has(Slots.FACTS) ? get(Slots.FACTS) : RequestFacts.NONE;
  }

  /** The number of lookups that failed or were late, so that preparers used their fallback values. */
  public int missedLookups() {
    return missedLookups;
  }

  void noteMissedLookup() {
    missedLookups++;
  }

  /**
   * Adds a note to the decision's reason, as {@code key=value}: what decided, or which preference was ignored. Replaces
   * an earlier note with that key. For filters, scorers and pickers.
   *
   * @param key printable ASCII without semicolons, as is {@code value}
   */
  public void note(String key, String value) {
    if (notes == null) {
      notes = new LinkedHashMap<>();
    }
    notes.put(key, value);
  }

  /** The notes of plugins to append to a reason: {@code ; key=value} for each note. */
  String notes() {
    if (notes == null) {
      return "";
    }
    StringBuilder text = new StringBuilder();
    notes.forEach((key, value) -> text.append("; ").append(key).append('=').append(value));
    return text.toString();
  }

  /** The random generator of this decision, seeded by the selector. For scorers and pickers. */
  public RandomGenerator random() {
    if (random == null) {
      throw new IllegalStateException("there is no random generator before a selector runs its pass");
    }
    return random;
  }

  /** The time in nanoseconds from an arbitrary origin, for scorers and pickers whose state expires. */
  public long nanos() {
    if (clock == null) {
      throw new IllegalStateException("there is no clock before a selector runs its pass");
    }
    return clock.nanos();
  }

  /** Sets what may be queued at a worker for the request to go there. */
  public RoutingContext limitQueues(@Nullable QueueLimit limit) {
    this.queueLimit = limit;
    return this;
  }

  /** What may be queued at a worker for the request to go there; null when it goes whatever is queued. */
  @Nullable QueueLimit queueLimit() {
    return queueLimit;
  }

  /** Sets the prompt as engines prepare it that make another chain of it than {@link Slots#CHAIN}. */
  public RoutingContext renditions(List<Rendition> others) {
    this.renditions = others;
    return this;
  }

  /** The prompt for engines that prepare it otherwise; empty where all prepare it alike. */
  List<Rendition> renditions() {
    return renditions;
  }

  /** Whether this is a dry run: nothing is booked, and plugins must not change their state. */
  public boolean dryRun() {
    return dryRun;
  }

  void setRole(Role stepRole) {
    this.role = stepRole;
  }

  void begin(RandomGenerator randomness, NanoClock nanoClock, boolean isDryRun) {
    this.random = randomness;
    this.clock = nanoClock;
    this.dryRun = isDryRun;
  }


  private Object stored(Slot<?> slot) {
    Object value = slot.index < values.length ? values[slot.index] : null;
    if (value == null) {
      throw new IllegalStateException(
          "slot \"" + slot + "\" is empty: a plugin that reads it must declare so in reads()");
    }
    return value;
  }

  private RoutingContext putNumber(Slot<?> slot, long value) {
    ensureCapacity(slot);
    values[slot.index] = IN_NUMBERS;
    numbers[slot.numberIndex] = value;
    return this;
  }

  /** Grows the arrays: a plugin's class, and so its slots, may be loaded after this context was made. */
  private void ensureCapacity(Slot<?> slot) {
    if (slot.index >= values.length) {
      values = Arrays.copyOf(values, Slot.count());
    }
    if (slot.numberIndex >= numbers.length) {
      numbers = Arrays.copyOf(numbers, Slot.numbers());
    }
  }
}
