package io.kvasir.pools;

/** The pools of a node as they are now, from both of their sources. Thread-safe; reading takes no lock. */
public final class LivePools {
  /** Where pools come from. */
  public enum Source {
    /** The node's configuration. */
    CONFIGURATION,
    /** Objects of a Kubernetes API. */
    KUBERNETES
  }

  // Guarded by this.
  private PoolSet configured = PoolSet.NONE;
  private PoolSet discovered = PoolSet.NONE;

  private volatile PoolSet all = PoolSet.NONE;

  /** Makes the pools of a source exactly these. */
  public synchronized void replace(Source source, PoolSet pools) {
    switch (source) {
      case CONFIGURATION -> configured = pools;
      case KUBERNETES -> discovered = pools;
    }
    all = configured.and(discovered);
  }

  /** The pools of both sources; those of the configuration go before others of the same id. */
  public PoolSet current() {
    return all;
  }
}
