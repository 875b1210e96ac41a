package io.kvasir.load;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.NetworkInterface;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A network namespace of Linux for each node, as if it were a machine: one interface to a bridge with the other nodes,
 * another to a bridge with this machine, where clients and engines are. A node that is cut is unplugged from the first:
 * what is sent there is lost without a word, in both directions at once. No namespace has a way out of the machine.
 *
 * <p>Needs root and {@code ip}. What it makes is named after this process and removed by {@link #close}, when the
 * JVM ends, or, if that was killed, by the next of these.
 */
final class NamespaceNetwork implements NodeNetwork {
  private static final int REMOTING = 7355;

  /** The machine's own, on the outer bridge; nodes have the next ones there, and the first ones on the inner bridge. */
  private static final int OUTSIDE = 129;

  /** With names of 15 characters at most, which is all that interfaces may have. */
  private static final Pattern NAMED = Pattern.compile("kv(\\d+)-\\w+");

  private final List<Integer> nodes;
  private final String prefix;
  private final Set<Integer> partitioned = ConcurrentHashMap.newKeySet();

  /**
   * The network of so many nodes.
   *
   * @throws IOException when the machine does not allow it; the message has the reason
   */
  NamespaceNetwork(int count) throws IOException {
    this.nodes = IntStream.range(0, count).boxed().toList();
    this.prefix = "10.87." + unused() + ".";
    removeAbandoned();
    Runtime.getRuntime().addShutdownHook(new Thread(this::removeOurs));
    try {
      bridge(name("in"));
      bridge(name("out"));
      ip("address", "add", prefix + OUTSIDE + "/25", "dev", name("out"));
      for (int node : nodes) {
        ip("netns", "add", namespace(node));
        ip("-n", namespace(node), "link", "set", "lo", "up");
        plug(node, "in", prefix + (node + 1));
        plug(node, "out", host(node));
      }
    } catch (IOException | RuntimeException refused) {
      removeOurs();
      throw refused;
    }
  }

  @Override
  public String kind() {
    return "namespaces";
  }

  @Override
  public String host(int node) {
    return prefix + (OUTSIDE + 1 + node);
  }

  @Override
  public String outside() {
    return prefix + OUTSIDE;
  }

  @Override
  public String address(int node) {
    return prefix + (node + 1) + ":" + REMOTING;
  }

  @Override
  public String settings(int node) {
    // Its addresses are not loopback's, but nobody else can reach them.
    return """
        kvasir.cluster { host = "%s", port = %d }
        kvasir.access.open = true""".formatted(prefix + (node + 1), REMOTING);
  }

  @Override
  public List<String> command(int node, List<String> command) {
    List<String> inNode = new ArrayList<>(List.of("ip", "netns", "exec", namespace(node)));
    inNode.addAll(command);
    return inNode;
  }

  @Override
  public void partition(int node) throws IOException {
    partitioned.add(node);
    ip("link", "set", name("in" + node), "nomaster");
  }

  @Override
  public void heal() throws IOException {
    for (int node : partitioned) {
      ip("link", "set", name("in" + node), "master", name("in"));
    }
    partitioned.clear();
  }

  @Override
  public void close() {
    removeOurs();
  }

  private static void bridge(String name) throws IOException {
    ip("link", "add", name, "type", "bridge");
    ip("link", "set", name, "up");
  }

  /** Gives a node an interface to a bridge. */
  private static void plug(int node, String bridge, String address) throws IOException {
    String plug = name(bridge + node);
    ip("link", "add", plug, "type", "veth", "peer", "name", bridge, "netns", namespace(node));
    ip("link", "set", plug, "master", name(bridge), "up");
    ip("-n", namespace(node), "address", "add", address + "/25", "dev", bridge);
    ip("-n", namespace(node), "link", "set", bridge, "up");
  }

  private static String namespace(int node) {
    return name("node" + node);
  }

  private static String name(String what) {
    return "kv" + ProcessHandle.current().pid() + "-" + what;
  }

  /** The third number of addresses that nothing on this machine has. */
  private static int unused() throws IOException {
    Set<String> taken =
        NetworkInterface.networkInterfaces()
            .flatMap(NetworkInterface::inetAddresses)
            .map(address -> address.getHostAddress().replaceFirst("\\.\\d+$", ""))
            .collect(Collectors.toSet());
    return ThreadLocalRandom.current()
        .ints(0, 256)
        .limit(10_000)
        .filter(number -> !taken.contains("10.87." + number))
        .findFirst()
        .orElseThrow(() -> new IOException("every network 10.87.x.0 is in use on this machine"));
  }

  private void removeOurs() {
    remove(ProcessHandle.current().pid());
  }

  /** What processes left that were killed. */
  private static void removeAbandoned() {
    Stream.concat(namespaces(), links())
        .map(NamespaceNetwork::maker)
        .filter(maker -> maker >= 0 && ProcessHandle.of(maker).isEmpty())
        .distinct()
        .toList()
        .forEach(NamespaceNetwork::remove);
  }

  /** Removes the namespaces of a process, and ends what still runs in them. */
  private static void remove(long maker) {
    namespaces().filter(name -> maker(name) == maker).toList().forEach(namespace -> {
      output("netns", "pids", namespace)
          .flatMap(pid -> ProcessHandle.of(Long.parseLong(pid.strip())).stream())
          .forEach(ProcessHandle::destroyForcibly);
      output("netns", "delete", namespace);
    });
    links().filter(name -> maker(name) == maker).toList().forEach(link -> output("link", "delete", link));
  }

  private static Stream<String> namespaces() {
    return output("netns", "list").map(line -> line.split(" ", 2)[0]);
  }

  /** Lines such as {@code kv17-in0@if2 UP 12:34...}. */
  private static Stream<String> links() {
    return output("-brief", "link", "show").map(line -> line.split("[@ ]", 2)[0]);
  }

  /** The id of the process that made what has this name, -1 where it is none of these. */
  private static long maker(String name) {
    Matcher named = NAMED.matcher(name);
    return named.matches() ? Long.parseLong(named.group(1)) : -1;
  }

  /** The lines that it answers, none when it fails: what is to be removed may not exist any more. */
  private static Stream<String> output(String... arguments) {
    try {
      return ip(arguments).lines();
    } catch (IOException failed) {
      return Stream.empty();
    }
  }

  private static String ip(String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of("ip"));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    try {
      if (process.waitFor() != 0) {
        throw new IOException(String.join(" ", command) + ": " + output.strip());
      }
      return output;
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("stopped while waiting for ip").initCause(stopped);
    }
  }
}
