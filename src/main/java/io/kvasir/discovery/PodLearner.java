package io.kvasir.discovery;

import io.kvasir.engines.EngineAddress;
import io.kvasir.engines.EngineIdentity;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Learns from engines what their pods are. */
@FunctionalInterface
public interface PodLearner {
  /**
   * What the engine tells of its pod now. Waits for the engine.
   *
   * @param engine where it is asked
   * @param known what it was when it was asked last, null to have it asked for whatever an engine may have
   * @throws IOException when it does not answer, or serves no model; the message says why, and the remedy
   */
  LearntPod learn(EngineAddress engine, @Nullable EngineIdentity known) throws IOException, InterruptedException;
}
