package io.kvasir.app.node;

import io.kvasir.time.TimeSlice;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Has the threads of the JVM's compilers let requests pass: with a {@linkplain TimeSlice long slice} nothing that is
 * woken waits until a compiler's turn is over, which is what the slowest of a hundred requests did. Only while there is
 * little to compile. While there is much, as in the first minute, code that stays slow for longer costs more than the
 * compilers take (load-tests/README.md, The first minute). One thread at a time.
 */
public final class CompilerSlices {
  private static final long SECOND_MILLIS = 1_000;

  /** Compiling in a second, of all compilers, from which on it is much. */
  private static final long BUSY_MILLIS = 100;

  /** Seconds with little to compile after which that counts as settled. */
  private static final int QUIET_SECONDS = 5;

  private final Consumer<TimeSlice> compilers;
  private long compiledMillis;
  private int quiet;

  /**
   * Compilers that are busy, as after the start.
   *
   * @param compilers gives them a slice
   * @param compiledMillis how long they have compiled until now
   */
  CompilerSlices(Consumer<TimeSlice> compilers, long compiledMillis) {
    this.compilers = compilers;
    this.compiledMillis = compiledMillis;
  }

  /** Checks this JVM's compilers every second until the process ends; nothing where it has none. */
  public static void start() {
    CompilationMXBean compilation = ManagementFactory.getCompilationMXBean();
    if (compilation != null && compilation.isCompilationTimeMonitoringSupported()) {
      CompilerSlices slices =
          new CompilerSlices(slice -> slice.useFor(CompilerSlices::isCompiler), compilation.getTotalCompilationTime());
      Thread.ofPlatform().daemon().name("kvasir-compiler-slices").start(() -> slices.repeat(compilation));
    }
  }

  private static boolean isCompiler(String thread) {
    return thread.startsWith("C1 Compiler") || thread.startsWith("C2 Compiler");
  }

  private void repeat(CompilationMXBean compilation) {
    try {
      while (true) {
        TimeUnit.MILLISECONDS.sleep(SECOND_MILLIS);
        check(compilation.getTotalCompilationTime());
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Gives them the slice that suits the last second.
   *
   * @param compiled how long they have compiled until now, in ms
   */
  void check(long compiled) {
    boolean busy = compiled - compiledMillis >= BUSY_MILLIS;
    compiledMillis = compiled;
    if (!busy) {
      quiet++;
      if (quiet == QUIET_SECONDS) {
        compilers.accept(TimeSlice.LONG);
      }
      return;
    }
    if (quiet >= QUIET_SECONDS) {
      compilers.accept(TimeSlice.DEFAULT);
    }
    quiet = 0;
  }
}
