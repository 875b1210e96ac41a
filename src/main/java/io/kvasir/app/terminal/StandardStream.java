package io.kvasir.app.terminal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/** A standard stream of the process, which leads to a terminal or to a file or pipe. */
public enum StandardStream {
  INPUT(0),
  OUTPUT(1),
  ERROR(2);

  private final int descriptor;

  StandardStream(int descriptor) {
    this.descriptor = descriptor;
  }

  /**
   * Whether the stream is a terminal's, as C's {@code isatty} says. {@link System#console()} would only tell whether
   * input and output are both: not where errors go, nor where output goes when input comes from a pipe.
   */
  public boolean isTerminal() {
    try {
      return (int) Native.ISATTY.invokeExact(descriptor) == 1;
    } catch (Throwable impossible) {
      throw new IllegalStateException("isatty(int) cannot be called", impossible);
    }
  }

  /** The size of the stream's terminal now, as the system says; empty without one, or where it does not say. */
  Optional<TerminalSize> size() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment size = arena.allocate(Native.WINSIZE);
      if ((int) Native.IOCTL.invokeExact(descriptor, Native.TIOCGWINSZ, size) != 0) {
        return Optional.empty();
      }
      int lines = Short.toUnsignedInt(size.getAtIndex(JAVA_SHORT, 0));
      int columns = Short.toUnsignedInt(size.getAtIndex(JAVA_SHORT, 1));
      return lines > 0 && columns > 0 ? Optional.of(new TerminalSize(columns, lines)) : Optional.empty();
    } catch (Throwable impossible) {
      throw new IllegalStateException("ioctl(int, unsigned long, ...) cannot be called", impossible);
    }
  }

  /** The functions of the C library, looked up when they are first wanted. */
  private static final class Native {
    static final MethodHandle ISATTY = function("isatty", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    static final MethodHandle IOCTL =
        function(
            "ioctl",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS),
            Linker.Option.firstVariadicArg(2));

    /** Lines, columns, and both in pixels. */
    static final MemoryLayout WINSIZE = MemoryLayout.sequenceLayout(4, JAVA_SHORT);

    /** Asks for the size: as Linux numbers it on x86 and ARM, and as the BSDs do. */
    static final long TIOCGWINSZ = System.getProperty("os.name").equals("Linux") ? 0x5413 : 0x40087468;

    private Native() {}

    @SuppressWarnings("restricted") // the signatures are POSIX's
    private static MethodHandle function(String name, FunctionDescriptor signature, Linker.Option... options) {
      Linker linker = Linker.nativeLinker();
      return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), signature, options);
    }
  }
}
