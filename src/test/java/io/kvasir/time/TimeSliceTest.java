package io.kvasir.time;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What the kernel then says; where threads have no slices of their own there is nothing to be seen. */
final class TimeSliceTest {
  private static final long LONG = TimeUnit.MILLISECONDS.toNanos(100);

  /** From Linux 6.12 on, where it is built to say so. */
  @BeforeAll
  static void findKernel() {
    assumeThat(System.getProperty("os.name")).isEqualTo("Linux");
    List<Integer> version =
        Pattern.compile("\\D+").splitAsStream(System.getProperty("os.version")).limit(2).map(Integer::valueOf).toList();
    assumeThat(version.getFirst() * 1_000 + version.getLast()).isGreaterThanOrEqualTo(6_012);
    assumeThat(own()).isPositive();
  }

  @Test
  void slice_isThatOfTheThreadsOfThatName_andOfThoseThatTheyStart() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch set = new CountDownLatch(1);
    FutureTask<List<Long>> slices = new FutureTask<>(() -> {
      long before = own();
      begun.countDown();
      set.await();
      FutureTask<Long> child = new FutureTask<>(TimeSliceTest::own);
      Thread.ofPlatform().start(child);
      return List.of(before, own(), child.get());
    });
    Thread.ofPlatform().name("slice-long").start(slices);
    begun.await();
    long mine = own();
    TimeSlice.LONG.useFor(name -> name.equals("slice-long"));
    set.countDown();
    assertThat(slices.get()).containsExactly(mine, LONG, LONG);
    assertThat(own()).as("of another name").isEqualTo(mine);
  }

  @Test
  void slice_mayBeTheKernelsAgain() throws Exception {
    long mine = own();
    FutureTask<List<Long>> slices = new FutureTask<>(() -> {
      TimeSlice.LONG.useFor(name -> name.equals("slice-back"));
      long set = own();
      TimeSlice.DEFAULT.useFor(name -> name.equals("slice-back"));
      return List.of(set, own());
    });
    Thread.ofPlatform().name("slice-back").start(slices);
    assertThat(slices.get()).containsExactly(LONG, mine);
  }

  private static long own() {
    return sliceOf(Path.of("/proc/thread-self"));
  }

  /** In nanoseconds; 0 where the kernel does not say, or the thread is gone. */
  private static long sliceOf(Path thread) {
    Path schedule = thread.resolve("sched");
    return !Files.exists(schedule)
        ? 0
        : text(schedule).lines()
            .filter(line -> line.startsWith("se.slice "))
            .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1).strip()))
            .findAny()
            .orElse(0);
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
