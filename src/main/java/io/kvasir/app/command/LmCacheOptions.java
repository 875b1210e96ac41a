package io.kvasir.app.command;

import io.kvasir.sim.lmcache.CacheController;
import io.kvasir.sim.lmcache.CacheCoordinator;
import io.kvasir.sim.lmcache.ControllerBinding;
import io.kvasir.sim.lmcache.NoneHash;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of {@code kvasir sim} that make it an LMCache controller or coordinator in place of an engine. */
final class LmCacheOptions {
  /** How long a coordinator's member may be silent, as in LMCache. */
  private static final Duration SILENCE = Duration.ofSeconds(30);

  private static final int MAX_PORT = 65_535;
  private static final Set<String> COORDINATORS = Set.of("--coordinator", "--host", "--port");
  private static final Set<String> CONTROLLERS = Set.of(
      "--controller", "--host", "--port", "--pull-port", "--reply-port", "--heartbeat-port", "--list-ms",
      "--lmcache-hash-seed");

  @Option(
      names = "--controller",
      description = {
        "Run a stand-in for LMCache's controller in place of an engine: its HTTP API on --port (9000 if not given),",
        "and the ports below, where engines with --lmcache-controller report what they hold."
      })
  private boolean controller;

  @Option(
      names = "--coordinator",
      description = {
        "Run a stand-in for the coordinator of LMCache's multi-process mode, with its directory, instead of an engine,",
        "on --port (9300 if not given)."
      })
  private boolean coordinator;

  @Option(names = "--pull-port", defaultValue = "8300", description = "Controller: workers' reports.")
  private int pullPort;

  @Option(names = "--reply-port", defaultValue = "8400", description = "Controller: what workers ask.")
  private int replyPort;

  @Option(names = "--heartbeat-port", defaultValue = "8500", description = "Controller: workers' heartbeats.")
  private int heartbeatPort;

  @Option(
      names = "--list-ms",
      defaultValue = "30000",
      description = "Controller: how old the workers may be that GET /controller/workers lists; LMCache's are 30 s.")
  private long listMs;

  @Option(
      names = "--lmcache-hash-seed",
      paramLabel = "PYTHONHASHSEED",
      description = {
        "Controller, and engines that report to one: their names of chunks begin from vLLM's NONE_HASH, as in a",
        "process with this PYTHONHASHSEED that can import vLLM; not given: from 0, as in one that cannot. All have to",
        "agree."
      })
  private @Nullable Long hashSeed;

  /** What the names of chunks begin from. */
  long noneHash(List<String> wrong) {
    try {
      return hashSeed == null ? NoneHash.WITHOUT_VLLM : NoneHash.of(hashSeed);
    } catch (IllegalArgumentException outOfRange) {
      wrong.add("lmcache-hash-seed: " + outOfRange.getMessage());
      return NoneHash.WITHOUT_VLLM;
    }
  }

  /**
   * What is wrong with the options of a controller or coordinator: a process is one of them, and no engine.
   *
   * @param port of HTTP
   * @param given the names of all options that were given
   */
  List<String> faults(int port, Set<String> given) {
    List<String> wrong = new ArrayList<>();
    if (controller && coordinator) {
      wrong.add("controller, --coordinator: start a process for each");
      return wrong;
    }
    Set<String> known = controller ? CONTROLLERS : COORDINATORS;
    given.stream()
        .filter(option -> !known.contains(option))
        .forEach(option ->
            wrong.add(option.substring(2) + ": is for engines, and this is a " + (controller ? "controller"
                : "coordinator")));
    checkPort("port", port, wrong);
    checkPort("pull-port", pullPort, wrong);
    checkPort("reply-port", replyPort, wrong);
    checkPort("heartbeat-port", heartbeatPort, wrong);
    if (listMs < 0) {
      wrong.add("list-ms: must be at least 0, is " + listMs);
    }
    long _ = noneHash(wrong);
    return wrong;
  }

  private static void checkPort(String option, int port, List<String> wrong) {
    if (port < 0 || port > MAX_PORT) {
      wrong.add(option + ": must be 0 to " + MAX_PORT + ", is " + port);
    }
  }

  /** Whether it is to be a controller. */
  boolean controller() {
    return controller;
  }

  /** Whether it is to be a coordinator. */
  boolean coordinator() {
    return coordinator;
  }

  CacheCoordinator startCoordinator(String host, int port) throws IOException {
    return CacheCoordinator.start(host, port, SILENCE);
  }

  CacheController startController(String host, int port) throws IOException {
    return CacheController.start(
        new ControllerBinding(host, port, pullPort, replyPort, heartbeatPort), Duration.ofMillis(listMs),
        noneHash(new ArrayList<>()));
  }
}
