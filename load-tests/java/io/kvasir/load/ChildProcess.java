package io.kvasir.load;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A process under measurement, with all it has started: its CPU time and memory as the kernel counts them. */
final class ChildProcess implements AutoCloseable {
  /** USER_HZ, which is 100 on every Linux. */
  private static final double TICKS_PER_SECOND = 100;

  private final String name;
  private final Process process;

  private ChildProcess(String name, Process process) {
    this.name = name;
    this.process = process;
    Runtime.getRuntime().addShutdownHook(new Thread(this::close));
  }

  /** A main class of ours in a JVM of its own; its output goes to {@code log} if it is not read. */
  static ChildProcess java(String name, Path log, List<String> flags, Class<?> main, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(List.of("--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"));
    command.addAll(flags);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(arguments));
    return command(name, log, command);
  }

  static ChildProcess command(String name, Path log, List<String> command) throws IOException {
    Files.createDirectories(log.toAbsolutePath().getParent());
    return new ChildProcess(name, new ProcessBuilder(command).redirectError(log.toFile()).start());
  }

  /** The same with output and errors in {@code log}. */
  static ChildProcess quiet(String name, Path log, List<String> command) throws IOException {
    Files.createDirectories(log.toAbsolutePath().getParent());
    return new ChildProcess(
        name, new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start());
  }

  /** The rest of the next line it prints that begins with {@code prefix}. */
  String awaitLine(String prefix) throws IOException {
    BufferedReader reader = process.inputReader();
    for (String line = reader.readLine(); line != null; line = reader.readLine()) {
      if (line.startsWith(prefix)) {
        return line.substring(prefix.length());
      }
    }
    throw new IOException(name + " ended without a word; see its log");
  }

  /** Writes a line to its standard input. */
  void writeLine(String line) throws IOException {
    BufferedWriter writer = process.outputWriter();
    writer.write(line);
    writer.newLine();
    writer.flush();
  }

  /** CPU seconds spent so far. */
  double cpuSeconds() {
    return processTree().mapToDouble(each -> cpuSeconds(Path.of("/proc/" + each.pid() + "/stat"))).sum();
  }

  /** Resident memory in MB (2^20 bytes). */
  double residentMegabytes() {
    return processTree().mapToDouble(ChildProcess::residentMegabytes).sum();
  }

  /** CPU seconds of its JVM's compiler threads, as far as they live; 0 for other programs. */
  double compilerSeconds() {
    return processTree()
        .flatMap(each -> tasks(each).stream())
        .filter(ChildProcess::isCompiler)
        .mapToDouble(task -> cpuSeconds(task.resolve("stat")))
        .sum();
  }

  private static boolean isCompiler(Path task) {
    try {
      return Files.readString(task.resolve("comm")).matches("C[12] CompilerThre\\s*");
    } catch (IOException ended) {
      return false;
    }
  }

  /** Threads now. */
  long threads() {
    return processTree().mapToLong(each -> tasks(each).size()).sum();
  }

  /** Times its threads that live now have given up a core, to wait or because they were made to. */
  long contextSwitches() {
    return processTree()
        .flatMap(each -> tasks(each).stream())
        .mapToLong(task -> statusSum(task.resolve("status"), "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"))
        .sum();
  }

  private static List<Path> tasks(ProcessHandle of) {
    try (Stream<Path> tasks = Files.list(Path.of("/proc/" + of.pid() + "/task"))) {
      return tasks.toList();
    } catch (IOException ended) {
      return List.of();
    }
  }

  private Stream<ProcessHandle> processTree() {
    return Stream.concat(Stream.of(process.toHandle()), process.toHandle().descendants());
  }

  /** Of a process's or thread's {@code stat}. */
  private static double cpuSeconds(Path file) {
    try {
      String stat = Files.readString(file);
      // The name stands in parentheses and may hold blanks; user and system time are fields 14 and 15.
      String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
      return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS_PER_SECOND;
    } catch (IOException e) {
      return 0;
    }
  }

  private static double residentMegabytes(ProcessHandle of) {
    return statusSum(Path.of("/proc/" + of.pid() + "/status"), "VmRSS:") / 1024.0;
  }

  /** The sum of these fields of a process's or thread's status. */
  private static long statusSum(Path status, String... fields) {
    try (Stream<String> lines = Files.lines(status)) {
      return lines
          .filter(line -> Arrays.stream(fields).anyMatch(line::startsWith))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
          .sum();
    } catch (IOException | UncheckedIOException e) {
      return 0;
    }
  }

  String name() {
    return name;
  }

  long pid() {
    return process.pid();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Waits until something listens on the port. */
  void awaitPort(int port, Duration limit) throws IOException, InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    while (true) {
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 200);
        return;
      } catch (IOException e) {
        if (!process.isAlive() || System.nanoTime() - end > 0) {
          throw new IOException(name + " does not listen on port " + port + "; see its log", e);
        }
        Thread.sleep(100);
      }
    }
  }

  /** Ends it as a crash would. */
  void kill() {
    processTree().toList().reversed().forEach(ProcessHandle::destroyForcibly);
  }

  @Override
  public void close() {
    List<ProcessHandle> all = processTree().toList();
    all.reversed().forEach(ProcessHandle::destroy);
    try {
      if (!process.waitFor(5, TimeUnit.SECONDS)) {
        all.forEach(ProcessHandle::destroyForcibly);
      }
    } catch (InterruptedException e) {
      all.forEach(ProcessHandle::destroyForcibly);
      Thread.currentThread().interrupt();
    }
  }
}
