package io.kvasir.engines;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** How an engine publishes the events of its KV cache. */
public sealed interface EventPublishing {
  /**
   * The sockets of a data-parallel rank.
   *
   * @param endpoint of its PUB socket
   * @param replay of its replay socket, null without one
   */
  record RankSockets(String endpoint, @Nullable String replay) {}

  /**
   * By ZMQ sockets, as vLLM and SGLang do. Rank r is found at each port + r, unless the engine tells of each rank.
   *
   * @param endpoint where the first rank's PUB socket is bound, with the engine's host in place of {@code *}; or, when
   *     it {@code connects}, the address that it dials, where the router has to listen
   * @param replay where the first rank's replay socket is bound; null without one, or when the engine does not tell
   * @param topic the first frame of its messages; may be empty
   * @param bufferSteps batches kept for replay, null when the engine does not tell
   * @param connects whether the engine dials the router
   * @param otherRanks the sockets of rank 1, 2 and so on where ports do not count up; else empty
   */
  record Zmq(
      String endpoint, @Nullable String replay, String topic, @Nullable Integer bufferSteps, boolean connects,
      List<RankSockets> otherRanks)
      implements EventPublishing {
    /** Copies the list. */
    public Zmq {
      otherRanks = List.copyOf(otherRanks);
    }

    /** Sockets whose ports count up. */
    public Zmq(
        String endpoint, @Nullable String replay, String topic, @Nullable Integer bufferSteps, boolean connects) {
      this(endpoint, replay, topic, bufferSteps, connects, List.of());
    }
  }

  /**
   * By ZMQ sockets at addresses of which the engine does not tell whether it has bound them or dials them.
   *
   * @param bound if it has bound them
   */
  record BoundOrDialled(Zmq bound) implements EventPublishing {}

  /**
   * By ZMQ sockets of more ranks than a pod may have.
   *
   * @param ranks that it names
   */
  record TooMany(int ranks) implements EventPublishing {}

  /**
   * In a way that the router does not read.
   *
   * @param why what it is, with the remedy, in whole sentences
   */
  record Unusable(String why) implements EventPublishing {}

  /** By ZMQ sockets at ports that the system chose and that the engine does not tell. */
  record UntoldPorts() implements EventPublishing {}

  /** It is a router before engines, whose events reach it and nobody else. */
  record Withheld() implements EventPublishing {}

  /** It publishes none. */
  record Off() implements EventPublishing {}

  /** It does not tell whether it publishes any. */
  record Untold() implements EventPublishing {}
}
