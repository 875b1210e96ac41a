package io.kvasir.app.node;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.UnaryOperator;

/** The heap of this process, which shrinks by the options of how much of it is to be free. One thread at a time. */
final class JvmHeap implements ShrinkableHeap {
  /** Options of the JVM: how much of the heap is free after a collection of all of it, in percent. */
  static final String LEAST_FREE = "MinHeapFreeRatio";

  static final String MOST_FREE = "MaxHeapFreeRatio";

  private final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
  private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
  private final UnaryOperator<String> option;
  private final BiConsumer<String, String> setOption;
  private final Runnable collect;

  /**
   * A heap that shrinks by these means.
   *
   * @param option the value of an option
   * @param setOption sets one
   * @param collect collects all of the heap
   */
  JvmHeap(UnaryOperator<String> option, BiConsumer<String, String> setOption, Runnable collect) {
    this.option = option;
    this.setOption = setOption;
    this.collect = collect;
  }

  static JvmHeap ofThisProcess() {
    HotSpotDiagnosticMXBean options = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
    return new JvmHeap(
        name -> options.getVMOption(name).getValue(), options::setVMOption, ManagementFactory.getMemoryMXBean()::gc);
  }

  @Override
  public long committed() {
    return memory.getHeapMemoryUsage().getCommitted();
  }

  @Override
  public long collections() {
    return collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionCount).sum();
  }

  @Override
  public void shrink() {
    String usualLeast = option.apply(LEAST_FREE);
    String usualMost = option.apply(MOST_FREE);
    try {
      free("0", "10");
      collect.run();
      // So small it would have to be collected again and again until it has grown. What it gets back now takes no
      // memory before it is used.
      free("70", "100");
      collect.run();
    } finally {
      free(usualLeast, usualMost);
    }
  }

  /** The JVM refuses a least above the most, whichever of them is set first. */
  private void free(String least, String most) {
    setOption.accept(LEAST_FREE, "0");
    setOption.accept(MOST_FREE, most);
    setOption.accept(LEAST_FREE, least);
  }
}
