package io.kvasir.app.node;

import com.sun.management.OperatingSystemMXBean;
import io.kvasir.time.TimeSlice;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Has the threads of the JVM's compilers let requests pass: with a {@linkplain TimeSlice long slice} nothing that is
 * woken waits until a compiler's turn is over, which is what the slowest of a hundred requests did. Only while this
 * process leaves the processors time. While it does not, as when a node that has just started gets all that it can
 * take, the compilers would have less of them, and code that stays slow for longer costs more than they take
 * (load-tests/README.md, The first minute). One thread at a time.
 */
public final class CompilerSlices {
  /**
   * The part of the processors that this process uses at which there may be too little for compilers: what others use,
   * such as clients and engines beside it, takes too long to read every second, and grows with it.
   */
  private static final double BUSY = 0.55;

  /** That below which there is enough. */
  private static final double ROOMY = 0.45;

  /** Seconds with enough after which it counts: a node that has just become ready gets requests a moment later. */
  private static final int ROOMY_SECONDS = 3;

  private final Consumer<TimeSlice> compilers;
  private TimeSlice slice = TimeSlice.DEFAULT;
  private int roomy;

  /**
   * Compilers of which nothing is changed yet.
   *
   * @param compilers gives them a slice
   */
  CompilerSlices(Consumer<TimeSlice> compilers) {
    this.compilers = compilers;
  }

  /** Checks this process every second until it ends; nothing where its use of processors is not known. */
  public static void start() {
    if (ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system) {
      CompilerSlices slices = new CompilerSlices(slice -> slice.useFor(CompilerSlices::isCompiler));
      Thread.ofPlatform().daemon().name("kvasir-compiler-slices").start(() -> slices.repeat(system));
    }
  }

  private static boolean isCompiler(String thread) {
    return thread.startsWith("C1 Compiler") || thread.startsWith("C2 Compiler");
  }

  private void repeat(OperatingSystemMXBean system) {
    long used = system.getProcessCpuTime();
    long since = System.nanoTime();
    try {
      while (true) {
        TimeUnit.SECONDS.sleep(1);
        long usedNow = system.getProcessCpuTime();
        long now = System.nanoTime();
        check((double) (usedNow - used) / (now - since) / Runtime.getRuntime().availableProcessors());
        used = usedNow;
        since = now;
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Gives them the slice that suits the last second.
   *
   * @param load the part of the processors that this process used, 0 to 1
   */
  void check(double load) {
    roomy = load < ROOMY ? roomy + 1 : 0;
    TimeSlice suits = load >= BUSY ? TimeSlice.DEFAULT : roomy >= ROOMY_SECONDS ? TimeSlice.LONG : slice;
    if (suits != slice) {
      slice = suits;
      compilers.accept(suits);
    }
  }
}
