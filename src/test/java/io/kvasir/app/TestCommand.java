package io.kvasir.app;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * A command that has been run in this process, beside whatever else prints there.
 *
 * @param status its exit status
 * @param out what it printed
 * @param err what it complained of
 */
record TestCommand(int status, String out, String err) {
  private static final Capture OUT = new Capture(System.out);
  private static final Capture ERR = new Capture(System.err);

  static {
    System.setOut(new PrintStream(OUT, true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(ERR, true, StandardCharsets.UTF_8));
  }

  static TestCommand run(String... arguments) {
    OUT.begin();
    ERR.begin();
    int status = Main.run(arguments);
    return new TestCommand(status, OUT.end(), ERR.end());
  }

  /** A stream that keeps what a thread writes that began to, and the threads that it starts; others write through. */
  private static final class Capture extends OutputStream {
    private final PrintStream others;
    private final InheritableThreadLocal<ByteArrayOutputStream> captured = new InheritableThreadLocal<>();

    Capture(PrintStream others) {
      this.others = others;
    }

    void begin() {
      captured.set(new ByteArrayOutputStream());
    }

    String end() {
      String text = Objects.requireNonNull(captured.get()).toString(StandardCharsets.UTF_8);
      captured.remove();
      return text;
    }

    @Override
    public void write(int b) {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int from, int length) {
      ByteArrayOutputStream own = captured.get();
      if (own == null) {
        others.write(bytes, from, length);
      } else {
        own.write(bytes, from, length);
      }
    }
  }
}
