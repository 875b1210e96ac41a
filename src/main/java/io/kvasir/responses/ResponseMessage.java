package io.kvasir.responses;

import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.receptionist.Receptionist;
import org.jspecify.annotations.Nullable;

/** The protocol of the nodes' keepers. */
sealed interface ResponseMessage {
  /** What crosses between nodes; bound to Jackson's CBOR in the configuration. */
  sealed interface Shared extends ResponseMessage {}

  /** Has a node remember where a response is. */
  record Remember(String response, ResponseLocation location) implements Shared {}

  /** Looks a response up. */
  record Find(String response, ActorRef<Found> replyTo) implements Shared {}

  /**
   * What a node knows of a response.
   *
   * @param location null when it does not know it
   */
  record Found(@Nullable ResponseLocation location) implements Shared {}

  /** The keepers of all nodes have changed. */
  record KeepersChanged(Receptionist.Listing listing) implements ResponseMessage {}
}
