package io.kvasir.routing;

import io.kvasir.index.Chain;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A typed key of the {@link RoutingContext}, through which plugins exchange values. A plugin declares the slots it
 * reads and writes, and the {@link ProfileCompiler} checks that each slot that is read has one earlier writer.
 *
 * <p>Slots are constants: one static field per slot, compared by identity. Each has an index in the context's arrays,
 * so that reading one is an array access. A {@link #number} slot keeps its value as a primitive. (Not to be confused
 * with a worker's slot, its bit position in a cell.)
 *
 * <p>Preparers run where a request arrives, the other stages at the home of its cell. Their slots are transferred
 * between the two if they hold texts, whole numbers, chains or values with a {@link TextCodec}; slots of other types
 * are for preparers only.
 *
 * @param <T> type of the values
 */
public final class Slot<T> {
  private static final Map<String, Slot<?>> BY_NAME = new ConcurrentHashMap<>();
  private static final Set<Class<?>> TRANSFERABLE = Set.of(String.class, Long.class, Chain.class);
  private static final AtomicInteger COUNT = new AtomicInteger();
  private static final AtomicInteger NUMBERS = new AtomicInteger();

  final int index;

  /** Index among the number slots, -1 for other slots. */
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
   * @param type type of the values
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
      if (earlier.definer.equals(Slot.class.getClassLoader())
          || Objects.equals(earlier.definer.getParent(), later.definer.getParent())) {
        throw new IllegalArgumentException("there is a slot named \"" + slot + "\" already; share its constant");
      }
      return later;
    });
    return slot;
  }

  /** The class loader of the class whose constant a new slot is. */
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

  /** The slot with that name, null when the class with its constant has not been loaded. */
  static @Nullable Slot<?> named(String name) {
    return BY_NAME.get(name);
  }

  /** The number of slots so far. */
  static int count() {
    return COUNT.get();
  }

  /** The number of number slots so far. */
  static int numbers() {
    return NUMBERS.get();
  }

  /** The slot's name in fault reports, decision records and transfers. */
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
