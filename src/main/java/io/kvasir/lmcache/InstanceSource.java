package io.kvasir.lmcache;

import java.io.IOException;
import java.net.URI;
import java.util.List;

/** A service that lists LMCache's instances: the controller, or the coordinator. Thread-safe. */
interface InstanceSource {
  /** "controller" or "coordinator", for logs and messages. */
  String name();

  URI address();

  /**
   * The ranks that the service lists. Waits a few seconds at most.
   *
   * @throws IOException when no usable response comes in time; the message has the reason
   */
  List<ControllerWorker> workers() throws IOException, InterruptedException;
}
