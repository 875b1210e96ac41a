package io.kvasir.lmcache;

import java.io.IOException;
import java.net.URI;
import java.util.List;

/** Who knows LMCache's instances: the controller, or the coordinator. Thread-safe. */
interface InstanceSource {
  /** Which of the two, for people. */
  String name();

  /** Where it is. */
  URI address();

  /**
   * The ranks that it knows. Waits some seconds at most.
   *
   * @throws IOException when it does not say; the message says why
   */
  List<ControllerWorker> workers() throws IOException, InterruptedException;
}
