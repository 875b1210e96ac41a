package io.kvasir.prompt;

import io.kvasir.prompt.chat.EngineVersion;
import java.io.IOException;
import java.util.List;

/** Engines that tell their versions, and tokenise nothing. Thread-safe. */
public final class VersionedEngine implements EngineTokenizer {
  volatile List<EngineVersion> versions;

  /** Engines of these versions, that of most of them first. */
  public VersionedEngine(EngineVersion... versions) {
    this.versions = List.of(versions);
  }

  @Override
  public int[] tokenize(String jsonBody) throws IOException {
    throw new IOException("not asked");
  }

  @Override
  public List<EngineVersion> versions() {
    return versions;
  }
}
