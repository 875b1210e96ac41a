package io.kvasir.discovery;

import java.io.IOException;
import java.net.URI;

/** An inquiry after what an engine is. */
@FunctionalInterface
public interface PodInquiry {
  /**
   * What the engine tells of its pod now. Waits for the engine.
   *
   * @param engine its base URL
   * @throws IOException when it does not answer, or serves no model; the message says why, and the remedy
   */
  LearntPod learn(URI engine) throws IOException, InterruptedException;
}
