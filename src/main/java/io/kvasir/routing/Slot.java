package io.kvasir.routing;

import io.kvasir.index.Chain;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A typed key of the {@link RoutingContext}, the only thing plugins talk through. A plugin declares the
 * slots it reads and writes, and the {@link ProfileCompiler} proves that each read has one earlier writer.
 *
 * <p>Slots are constants: one static field per slot, compared by identity. Each has a place of its own in
 * the context's arrays, so reading one is an array access. A {@link #number} slot keeps its value as a
 * primitive. (Not to be confused with a worker's slot, its bit position in a cell.)
 *
 * <p>Preparers run where a request arrives, the other stages at the home of its cell. What a preparer fills for them
 * {@link #isTransferable} if it is a text, a whole number or a chain; slots of other types are for preparers among
 * themselves.
 *
 * @param <T> what it holds
 */
public final class Slot<T> {
  private static final Map<String, Slot<?>> BY_NAME = new ConcurrentHashMap<>();
  private static final Set<Class<?>> TRANSFERABLE = Set.of(String.class, Long.class, Chain.class);
  private static final AtomicInteger COUNT = new AtomicInteger();
  private static final AtomicInteger NUMBERS = new AtomicInteger();

  final int index;

  /** Its place among the numbers; of no meaning for a slot that {@link #isNumber is} none. */
  final int numberIndex;

  private final String name;
  private final Class<T> type;
  private final @Nullable TextCodec<T> codec;
  private final boolean confidential;
  private final ClassLoader definer;

  private Slot(String name, Class<T> type, @Nullable TextCodec<T> codec, boolean confidential) {
    this.index = COUNT.getAndIncrement();
    this.name = name;
    this.type = type;
    this.codec = codec;
    this.numberIndex = isNumber() ? NUMBERS.getAndIncrement() : -1;
    this.confidential = confidential;
    this.definer = definer();
  }

  /**
   * A new slot.
   *
   * @param name unique among the plugins of a node, as fault reports show it
   * @param type what it holds
   */
  public static <T> Slot<T> of(String name, Class<T> type) {
    return register(new Slot<>(name, type, null, true));
  }

  /** A new slot for a whole number, kept unboxed. */
  public static Slot<Long> number(String name) {
    return register(new Slot<>(name, Long.class, null, false));
  }

  /**
   * A new slot whose values are transferred to the cell as text.
   *
   * @param name unique among the plugins of a node, as fault reports show it
   * @param type type of the values
   * @param codec how values become text and back; the text must not change between versions
   * @param confidential whether a value may identify the client, so that decision records keep only its hash
   */
  public static <T> Slot<T> encoded(String name, Class<T> type, TextCodec<T> codec, boolean confidential) {
    return register(new Slot<>(name, type, codec, confidential));
  }

  /**
   * The text form of a slot's values. Thread-safe.
   *
   * @param encode from value to text
   * @param decode from text to value; never fails, whatever text a node of another version sends
   */
  public record TextCodec<T>(Function<T, String> encode, Function<String, T> decode) {}

  /** Whether values of the slot with that name may identify the client, so that records keep only their hash. */
  public static boolean isConfidential(String name) {
    Slot<?> slot = BY_NAME.get(name);
    return slot == null || slot.confidential;
  }

  /**
   * Registers a constant by its name. Plugin jars that are opened again define their constants again, which take the
   * place of the earlier ones: the class loaders of jars that are opened together have one parent.
   */
  private static <T> Slot<T> register(Slot<T> slot) {
    BY_NAME.merge(slot.name, slot, (earlier, later) -> {
      if (earlier.definer == Slot.class.getClassLoader() || earlier.definer.getParent() == later.definer.getParent()) {
        throw new IllegalArgumentException("there is a slot named \"" + slot + "\" already; share its constant");
      }
      return later;
    });
    return slot;
  }

  /** The class loader of the class that has a new slot as a constant. */
  private static ClassLoader definer() {
    return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
        .walk(
            frames ->
                frames.<Class<?>>map(StackWalker.StackFrame::getDeclaringClass)
                    .filter(type -> type != Slot.class)
                    .findFirst())
        .map(Class::getClassLoader)
        .orElse(Slot.class.getClassLoader());
  }

  /** The slot of that name, null when the class that has it as a constant has not been loaded. */
  static @Nullable Slot<?> named(String name) {
    return BY_NAME.get(name);
  }

  /** How many slots there are so far. */
  static int count() {
    return COUNT.get();
  }

  /** How many of them are for numbers. */
  static int numbers() {
    return NUMBERS.get();
  }

  /** Its name in fault reports. */
  public String name() {
    return name;
  }

  /** Whether values can be sent to another node: text, whole numbers, chains, and values that are encoded as text. */
  public boolean isTransferable() {
    return codec != null || TRANSFERABLE.contains(type);
  }

  /** A value as {@link PreparedSlots} carry it: a text, a whole number or a chain. */
  Object toTransferred(T value) {
    return codec == null ? value : codec.encode.apply(value);
  }

  /** The value that was transferred, null when it is none of this slot's type. */
  @Nullable T fromTransferred(Object transferred) {
    if (codec != null) {
      return transferred instanceof String text ? codec.decode.apply(text) : null;
    }
    return type.isInstance(transferred) ? type.cast(transferred) : null;
  }

  boolean isNumber() {
    return type == Long.class;
  }

  T cast(Object value) {
    return type.cast(value);
  }

  @Override
  public String toString() {
    return name;
  }
}
