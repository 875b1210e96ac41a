package io.kvasir.app;

import io.kvasir.sim.lmcache.CacheController;
import picocli.CommandLine.Option;

/** The options of {@code kvasir sim} that make it an LMCache controller in place of an engine. */
final class ControllerOptions {
  @Option(
      names = "--controller",
      description = {
        "Run a stand-in for LMCache's controller in place of an engine: its HTTP API on --port (9000 if not given),",
        "and the ports below, where engines with --lmcache-controller tell what they hold."
      })
  private boolean controller;

  @Option(names = "--pull-port", defaultValue = "8300", description = "Controller: what workers tell.")
  private int pullPort;

  @Option(names = "--reply-port", defaultValue = "8400", description = "Controller: what workers ask.")
  private int replyPort;

  @Option(names = "--heartbeat-port", defaultValue = "8500", description = "Controller: workers' heartbeats.")
  private int heartbeatPort;

  boolean wanted() {
    return controller;
  }

  CacheController.Binding binding(String host, int port) {
    return new CacheController.Binding(host, port, pullPort, replyPort, heartbeatPort);
  }
}
