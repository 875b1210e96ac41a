package io.kvasir.discovery;

import java.io.IOException;
import java.net.URI;
import java.util.List;

/** An inquiry after the models that an engine serves. */
@FunctionalInterface
public interface ModelInquiry {
  /**
   * The names of the models that an engine serves now, the base model first. Waits for the engine.
   *
   * @param engine its base URL
   * @throws IOException when it does not answer, or serves no model
   */
  List<String> models(URI engine) throws IOException, InterruptedException;
}
