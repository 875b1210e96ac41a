package io.kvasir.locations;

import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.receptionist.Receptionist;
import org.jspecify.annotations.Nullable;

/** The protocol of the nodes' keepers. */
sealed interface LocationMessage {
  /** What crosses between nodes; bound to Jackson's CBOR in the configuration. */
  sealed interface Shared extends LocationMessage {}

  /** Has a node remember where something is. */
  record Remember(String name, WorkerLocation location) implements Shared {}

  /** Looks something up. */
  record Find(String name, ActorRef<Found> replyTo) implements Shared {}

  /**
   * What a node knows of it.
   *
   * @param location null when it does not know it
   */
  record Found(@Nullable WorkerLocation location) implements Shared {}

  /** The keepers of all nodes have changed. */
  record KeepersChanged(Receptionist.Listing listing) implements LocationMessage {}
}
