package io.kvasir.app;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * A command that has been run in this process.
 *
 * @param status its exit status
 * @param out what it printed
 * @param err what it complained of
 */
record TestCommand(int status, String out, String err) {
  static TestCommand run(String... arguments) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    PrintStream stdout = System.out;
    PrintStream stderr = System.err;
    int status;
    try {
      System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
      System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
      status = Main.run(arguments);
    } finally {
      System.setOut(stdout);
      System.setErr(stderr);
    }
    return new TestCommand(status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }
}
