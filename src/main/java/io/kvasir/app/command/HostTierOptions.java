package io.kvasir.app.command;

import io.kvasir.sim.lmcache.ControllerAddress;
import io.kvasir.sim.settings.HostTierSettings;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of {@code kvasir sim} for the engine's host memory, and for the LMCache processes that it reports to. */
final class HostTierOptions {
  @Option(
      names = "--host-blocks",
      defaultValue = "0",
      description = "KV blocks of each rank in host memory, as with LMCache; 0: none.")
  private int blocks;

  @Option(names = "--host-gbps", defaultValue = "350", description = "Gigabits a second from host to device.")
  private double gbps;

  @Option(
      names = "--host-events",
      description = "Events report copies to host memory, as LMCache's connector does; evictions are not reported.")
  private boolean events;

  @Option(
      names = "--lmcache-controller",
      paramLabel = "HOST[:PULL,REPLY]",
      description = "LMCache controller that host memory is reported to; ports as LMCache's, 8300,8400, if not given.")
  private @Nullable String controller;

  @Option(
      names = "--lmcache-coordinator",
      paramLabel = "URL",
      description = {
        "Coordinator of LMCache's multi-process mode to join, and to report to what host memory keeps, such as",
        "http://127.0.0.1:9300."
      })
  private @Nullable URI coordinator;

  @Option(
      names = "--lmcache-instance",
      defaultValue = "lmcache_default_instance",
      description = "Instance id towards controller and coordinator; to the controller several ranks add -0, -1 …")
  private String instance = "";

  @Option(
      names = "--lmcache-heartbeat-ms",
      defaultValue = "0",
      description = {
        "Between heartbeats; 0: as LMCache, none to the controller, every 5 s to the coordinator. Without heartbeats a",
        "controller that was restarted stays empty."
      })
  private long heartbeatMs;

  /**
   * The settings of an engine.
   *
   * @param noneHash what the names of its chunks begin from
   */
  HostTierSettings settings(long noneHash, List<String> wrong) {
    ControllerAddress address = null;
    if (controller != null) {
      try {
        address = ControllerAddress.parse(controller);
      } catch (IllegalArgumentException malformed) {
        wrong.add("lmcache-controller: " + malformed.getMessage());
      }
    }
    return new HostTierSettings(
        blocks, gbps, events, address, coordinator, instance, noneHash, Duration.ofMillis(heartbeatMs));
  }
}
