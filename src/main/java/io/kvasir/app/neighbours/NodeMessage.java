package io.kvasir.app.neighbours;

import java.time.Instant;
import java.util.List;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/** The protocol of nodes that ask each other what they are, and what they reach. */
sealed interface NodeMessage {
  /** A question to a node, which it answers at once or after a few seconds at most. */
  sealed interface Question extends NodeMessage {}

  /**
   * Asks a node what it is.
   *
   * @param pepper random bytes that the digests of its secrets are made with, so that they are of use to this question
   *     only
   */
  record Describe(byte[] pepper, ActorRef<Description> replyTo) implements Question {}

  /** Asks a node which of these ports it reaches. */
  record Probe(List<Endpoint> endpoints, ActorRef<Probed> replyTo) implements Question {}

  /**
   * What a node is.
   *
   * @param node its address, host and port of its remoting
   * @param version Kvasir's, as it runs there
   * @param endpoints the ports that other nodes need
   * @param certificates those by which it proves who it is
   * @param settings those in effect, as {@link SettingsCodec} writes them; empty when they are too many for a message
   */
  record Description(
      String node, String version, List<Endpoint> endpoints, List<Certificate> certificates, byte[] settings)
      implements NodeMessage {}

  /**
   * A port of a node, as others reach it.
   *
   * @param node the node's address
   * @param port what it is for
   * @param tls whether it has TLS
   */
  record Endpoint(String node, NodePort port, String host, int number, boolean tls) implements NodeMessage {}

  /**
   * A certificate of a node.
   *
   * @param setting that names it, such as {@code kvasir.cluster.tls}
   * @param host by which others connect, null when any will do
   * @param failure why it cannot be read, null when it can
   * @param names the hosts and addresses that it is for
   * @param authority who issued it
   */
  record Certificate(
      String setting,
      String file,
      @Nullable String host,
      @Nullable String failure,
      @Nullable Instant from,
      @Nullable Instant until,
      List<String> names,
      String authority)
      implements NodeMessage {}

  /** What a node found at the ports that it was asked about. */
  record Probed(List<PortProbe> probes) implements NodeMessage {}

  /**
   * What a node found at a port of another.
   *
   * @param endpoint the port
   * @param outcome whether it is reached
   * @param detail why not; empty when it is
   */
  record PortProbe(Endpoint endpoint, Outcome outcome, String detail) implements NodeMessage {}

  /** Whether a port is reached. */
  enum Outcome {
    /** It takes the connection, and TLS where there is any. */
    OPEN,
    /** The machine is there, and nothing listens. */
    REFUSED,
    /** Nothing came back in time. */
    SILENT,
    /** The connection is cut at once, as a proxy does that has no node behind it. */
    CUT,
    /** Its TLS cannot be agreed on, or one of the two does not trust the other. */
    UNTRUSTED
  }
}
