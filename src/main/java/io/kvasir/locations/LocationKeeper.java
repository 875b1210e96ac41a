package io.kvasir.locations;

import io.kvasir.locations.LocationMessage.Find;
import io.kvasir.locations.LocationMessage.Found;
import io.kvasir.locations.LocationMessage.KeepersChanged;
import io.kvasir.locations.LocationMessage.Remember;
import java.util.Collection;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.SupervisorStrategy;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.receptionist.Receptionist;
import org.apache.pekko.actor.typed.receptionist.ServiceKey;

/** A node's end of what nodes remember for each other. */
final class LocationKeeper {
  private LocationKeeper() {}

  /** The key by which the keepers of a kind find each other. */
  static ServiceKey<LocationMessage> key(String kind) {
    return ServiceKey.create(LocationMessage.class, kind);
  }

  /**
   * A keeper, found by those of the other nodes.
   *
   * @param known what this node remembers
   * @param others is given the keepers of the other nodes, as often as they change
   */
  static Behavior<LocationMessage> create(
      String kind, LocationTable known, Consumer<Collection<ActorRef<LocationMessage>>> others) {
    return Behaviors.supervise(keeping(key(kind), known, others)).onFailure(SupervisorStrategy.restart());
  }

  private static Behavior<LocationMessage> keeping(
      ServiceKey<LocationMessage> key, LocationTable known, Consumer<Collection<ActorRef<LocationMessage>>> others) {
    return Behaviors.setup(
        context -> {
          Receptionist.Command register = Receptionist.register(key, context.getSelf());
          context.getSystem().receptionist().tell(register);
          ActorRef<Receptionist.Listing> listings =
              context.messageAdapter(Receptionist.Listing.class, KeepersChanged::new);
          context.getSystem().receptionist().tell(Receptionist.subscribe(key, listings));
          return Behaviors.receiveMessage(
              message -> {
                switch (message) {
                  case Remember remember -> known.put(remember.name(), remember.location());
                  case Find find -> find.replyTo().tell(new Found(known.get(find.name())));
                  case KeepersChanged(Receptionist.Listing listing) -> others.accept(
                      listing.getServiceInstances(key).stream()
                          .filter(keeper -> !keeper.equals(context.getSelf()))
                          .toList());
                  case Found _ -> {
                    // Goes to whoever has asked.
                  }
                }
                return Behaviors.same();
              });
        });
  }
}
