package io.kvasir.events;

import org.jspecify.annotations.Nullable;

/**
 * The endpoints of one worker's ZMQ events.
 *
 * @param endpoint what the SUB socket connects to, or binds; engines' {@code *} stands for every local
 *     address and is for binding only
 * @param replay the engine's replay endpoint, null when it offers none: gaps then are not recovered
 * @param topic prefix of the topic; when binding, it distinguishes this worker's messages from others'
 * @param bind whether engines connect to the router: several workers may then share one endpoint
 * @param snapshot how the engine is asked for a snapshot
 * @param snapshotEndpoint where, for a format that {@linkplain SnapshotFormat#hasOwnEndpoint has its own}; null
 *     otherwise
 */
public record ZmqEndpoints(
    String endpoint, @Nullable String replay, String topic, boolean bind, SnapshotFormat snapshot,
    @Nullable String snapshotEndpoint) {
  /** Checks that the endpoints can be used. */
  public ZmqEndpoints {
    check(endpoint, "endpoint", bind);
    if (replay != null) {
      check(replay, "replay", false);
    } else if (snapshot != SnapshotFormat.NONE && !snapshot.hasOwnEndpoint()) {
      throw new IllegalArgumentException("snapshots come over the replay endpoint, and there is none");
    }
    if (snapshotEndpoint != null) {
      check(snapshotEndpoint, "snapshot-endpoint", false);
    } else if (snapshot.hasOwnEndpoint()) {
      throw new IllegalArgumentException("snapshots come over an endpoint of their own, and there is none");
    }
  }

  /** Where snapshots are asked for, null where they are not. */
  public @Nullable String snapshots() {
    return switch (snapshot) {
      case NONE -> null;
      case VLLM_50134 -> replay;
      case VLLM_57789 -> snapshotEndpoint;
    };
  }

  /** Endpoints of an engine that is not asked for snapshots. */
  public ZmqEndpoints(String endpoint, @Nullable String replay, String topic, boolean bind) {
    this(endpoint, replay, topic, bind, SnapshotFormat.NONE, null);
  }

  /**
   * The endpoints of a data-parallel rank, as engines derive them: the last port + rank.
   *
   * @throws IllegalArgumentException when an endpoint has no port to count from and {@code rank} is not 0
   */
  public ZmqEndpoints ofRank(int rank) {
    return rank == 0
        ? this
        : new ZmqEndpoints(
            shifted(endpoint, rank), replay == null ? null : shifted(replay, rank), topic, bind, snapshot,
            snapshotEndpoint == null ? null : shifted(snapshotEndpoint, rank));
  }

  private static void check(String endpoint, String field, boolean bind) {
    if (!endpoint.startsWith("tcp://") && !endpoint.startsWith("ipc://") && !endpoint.startsWith("inproc://")) {
      throw new IllegalArgumentException(field + " '" + endpoint + "' must begin with tcp://, ipc:// or inproc://");
    }
    if (endpoint.startsWith("tcp://")) {
      port(endpoint, field);
      if (!bind && (endpoint.startsWith("tcp://*") || endpoint.startsWith("tcp://0.0.0.0"))) {
        throw new IllegalArgumentException(field + " '" + endpoint + "' must name the engine's host to connect to it");
      }
    }
  }

  private static int port(String endpoint, String field) {
    int colon = endpoint.lastIndexOf(':');
    try {
      int port = Integer.parseInt(endpoint.substring(colon + 1));
      if (port > 0 && port < 65_536) {
        return port;
      }
    } catch (NumberFormatException e) {
      // reported below
    }
    throw new IllegalArgumentException(field + " '" + endpoint + "' must end with a port, as in tcp://host:5557");
  }

  private static String shifted(String endpoint, int rank) {
    if (endpoint.startsWith("inproc://")) {
      return endpoint + "_dp" + rank;
    }
    if (!endpoint.startsWith("tcp://")) {
      throw new IllegalArgumentException("'" + endpoint + "' has no port to count rank " + rank + " from");
    }
    return endpoint.substring(0, endpoint.lastIndexOf(':') + 1) + (port(endpoint, "endpoint") + rank);
  }
}
