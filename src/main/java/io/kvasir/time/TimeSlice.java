package io.kvasir.time;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How long the kernel lets a thread run before others have their turn: not how much of the processors it gets, but how
 * soon. A thread that is woken takes the place of one whose slice is longer at once; otherwise it waits until that
 * one's is over, often while another processor is idle. Linux has had it from 6.12 on (EEVDF, {@code
 * sched_setattr(2)}: {@code sched_runtime} of {@code SCHED_OTHER}); before, and on other systems, nothing changes. No
 * privilege is needed.
 */
public enum TimeSlice {
  /** The kernel's own, some milliseconds. */
  DEFAULT(0),
  /** For threads that nobody waits for: the longest there is. */
  LONG(TimeUnit.MILLISECONDS.toNanos(100));

  private static final Logger LOG = LoggerFactory.getLogger(TimeSlice.class);
  private static final Path THREADS = Path.of("/proc/self/task");

  private final long nanos;

  TimeSlice(long nanos) {
    this.nanos = nanos;
  }

  /**
   * Gives it to threads of this process that there are, and so to those that they start.
   *
   * @param named whether it is for threads of this name, of which the kernel keeps 15 bytes
   */
  public void useFor(Predicate<String> named) {
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(THREADS)) {
      for (Path thread : threads) {
        if (named.test(name(thread))
            && !Kernel.setSlice(Integer.parseInt(thread.getFileName().toString()), nanos)) {
          LOG.debug("thread {} keeps its time slice", thread);
        }
      }
    } catch (IOException | DirectoryIteratorException unknown) {
      LOG.debug("threads keep their time slices", unknown);
    }
  }

  private static String name(Path thread) {
    try {
      return Files.readString(thread.resolve("comm")).strip();
    } catch (IOException over) {
      return "";
    }
  }

  /** The system calls. Linked when one is first made, which takes some ten milliseconds. */
  private static final class Kernel {
    /** Of {@code struct sched_attr} in its first version. */
    private static final int ATTRIBUTES_BYTES = 48;

    private static final int RUNTIME_OFFSET = 24;

    /** The number of {@code sched_setattr}; {@code sched_getattr} has the next. */
    private static final long SET = number(System.getProperty("os.name"), System.getProperty("os.arch"));

    private static final @Nullable MethodHandle SYSCALL = SET == 0 ? null : link();

    /** 0 where it is not known. */
    private static long number(String system, String processor) {
      return !system.equals("Linux") ? 0 : switch (processor) {
        case "amd64" -> 314;
        case "aarch64" -> 274;
        default -> 0;
      };
    }

    @SuppressWarnings("restricted") // --enable-native-access, as for the tokenizer
    private static @Nullable MethodHandle link() {
      try {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
            linker.defaultLookup().findOrThrow("syscall"),
            FunctionDescriptor.of(
                ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.ADDRESS,
                ValueLayout.JAVA_INT, ValueLayout.JAVA_INT),
            Linker.Option.firstVariadicArg(1));
      } catch (RuntimeException | UnsatisfiedLinkError unknown) {
        LOG.debug("no time slices can be set", unknown);
        return null;
      }
    }

    /** Whether the kernel has accepted it. What else the thread is scheduled by stays as it is. */
    static boolean setSlice(int thread, long nanos) {
      MethodHandle syscall = SYSCALL;
      if (syscall == null) {
        return false;
      }
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attributes = arena.allocate(ATTRIBUTES_BYTES, Long.BYTES);
        if ((long) syscall.invokeExact(SET + 1, thread, attributes, ATTRIBUTES_BYTES, 0) != 0) {
          return false;
        }
        attributes.set(ValueLayout.JAVA_LONG, RUNTIME_OFFSET, nanos);
        return (long) syscall.invokeExact(SET, thread, attributes, 0, 0) == 0;
      } catch (Throwable impossible) {
        throw new IllegalStateException(impossible);
      }
    }
  }
}
