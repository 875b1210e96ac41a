package io.kvasir.load;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * What the process holds.
 *
 * @param threads platform threads
 * @param sockets open sockets; −1 where the system does not report them
 * @param heapMegabytes live objects
 */
record ChaosFootprint(int threads, int sockets, long heapMegabytes) {
  /** Pools breathe a little; a leak of one in a hundred requests is far more. */
  private static final int THREADS = 16;

  private static final int SOCKETS = 32;
  private static final long MEGABYTES = 48;

  static ChaosFootprint now() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    Runtime runtime = Runtime.getRuntime();
    return new ChaosFootprint(
        ManagementFactory.getThreadMXBean().getThreadCount(),
        openSockets(),
        (runtime.totalMemory() - runtime.freeMemory()) >> 20);
  }

  /** Whether it is more than {@code before}, by more than pools breathe. */
  boolean grewSince(ChaosFootprint before) {
    return threads > before.threads + THREADS
        || sockets > before.sockets + SOCKETS
        || heapMegabytes > before.heapMegabytes + MEGABYTES;
  }

  private static int openSockets() {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return (int) open.filter(ChaosFootprint::isSocket).count();
    } catch (IOException e) {
      return -1;
    }
  }

  private static boolean isSocket(Path fd) {
    try {
      return Files.readSymbolicLink(fd).toString().startsWith("socket:");
    } catch (IOException e) {
      return false; // closed meanwhile
    }
  }
}
