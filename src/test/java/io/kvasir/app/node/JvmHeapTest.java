package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The options of the JVM while its heap shrinks. */
final class JvmHeapTest {
  private static final Map<String, String> USUAL = Map.of(JvmHeap.LEAST_FREE, "40", JvmHeap.MOST_FREE, "70");

  private final Map<String, String> values = new HashMap<>(USUAL);
  private int collections;

  @Test
  void optionsAreAsBefore_whenItHasShrunk() {
    heap(0).shrink();

    assertThat(collections).isEqualTo(2);
    assertThat(values).isEqualTo(USUAL);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void optionsAreAsBefore_whenACollectionFails(int failing) {
    assertThatThrownBy(() -> heap(failing).shrink()).hasMessage("the collection failed");

    assertThat(values).isEqualTo(USUAL);
  }

  @Test
  void optionsOfThisProcess_areAsBefore() {
    HotSpotDiagnosticMXBean options = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
    String least = options.getVMOption(JvmHeap.LEAST_FREE).getValue();
    String most = options.getVMOption(JvmHeap.MOST_FREE).getValue();

    JvmHeap.ofThisProcess().shrink();

    assertThat(options.getVMOption(JvmHeap.LEAST_FREE).getValue()).isEqualTo(least);
    assertThat(options.getVMOption(JvmHeap.MOST_FREE).getValue()).isEqualTo(most);
  }

  /** The heap of a JVM of which a collection fails, the first being 1. */
  private JvmHeap heap(int failing) {
    return new JvmHeap(values::get, this::set, () -> collect(failing));
  }

  /** As HotSpot, which checks each value against the other option's. */
  private void set(String name, String value) {
    Map<String, String> next = new HashMap<>(values);
    next.put(name, value);
    if (Integer.parseInt(next.get(JvmHeap.LEAST_FREE)) > Integer.parseInt(next.get(JvmHeap.MOST_FREE))) {
      throw new IllegalArgumentException(name + " cannot be " + value + " beside " + values);
    }
    values.put(name, value);
  }

  private void collect(int failing) {
    collections++;
    if (collections == failing) {
      throw new IllegalStateException("the collection failed");
    }
  }
}
