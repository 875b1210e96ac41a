package io.kvasir.app.node;

import java.util.ArrayDeque;
import java.util.Deque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Closeable parts of a node, closed in the reverse order of their construction. For one thread at a time. */
final class Resources implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Resources.class);

  private final Deque<AutoCloseable> parts = new ArrayDeque<>();

  /** Takes over a part. */
  <T extends AutoCloseable> T own(T part) {
    parts.push(part);
    return part;
  }

  /** Closes every part once; a failure of one is logged and does not keep the others open. */
  @Override
  public void close() {
    while (!parts.isEmpty()) {
      AutoCloseable part = parts.pop();
      try {
        part.close();
      } catch (Exception failed) {
        LOG.warn("{} did not close well", part, failed);
      }
    }
  }
}
