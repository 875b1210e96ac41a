package io.kvasir.responses;

import io.kvasir.responses.ResponseMessage.Find;
import io.kvasir.responses.ResponseMessage.Found;
import io.kvasir.responses.ResponseMessage.KeepersChanged;
import io.kvasir.responses.ResponseMessage.Remember;
import java.util.Collection;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.SupervisorStrategy;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.receptionist.Receptionist;
import org.apache.pekko.actor.typed.receptionist.ServiceKey;

/** A node's end of what nodes remember for each other. */
final class ResponseKeeper {
  private static final ServiceKey<ResponseMessage> KEY =
      ServiceKey.create(ResponseMessage.class, "kvasir-stored-responses");

  private ResponseKeeper() {}

  /**
   * A keeper, found by those of the other nodes.
   *
   * @param known what this node remembers
   * @param others is given the keepers of the other nodes, as often as they change
   */
  static Behavior<ResponseMessage> create(
      ResponseTable known, Consumer<Collection<ActorRef<ResponseMessage>>> others) {
    return Behaviors.supervise(keeping(known, others)).onFailure(SupervisorStrategy.restart());
  }

  private static Behavior<ResponseMessage> keeping(
      ResponseTable known, Consumer<Collection<ActorRef<ResponseMessage>>> others) {
    return Behaviors.setup(
        context -> {
          Receptionist.Command register = Receptionist.register(KEY, context.getSelf());
          context.getSystem().receptionist().tell(register);
          ActorRef<Receptionist.Listing> listings =
              context.messageAdapter(Receptionist.Listing.class, KeepersChanged::new);
          context.getSystem().receptionist().tell(Receptionist.subscribe(KEY, listings));
          return Behaviors.receiveMessage(
              message -> {
                switch (message) {
                  case Remember remember -> known.put(remember.response(), remember.location());
                  case Find find -> find.replyTo().tell(new Found(known.get(find.response())));
                  case KeepersChanged(Receptionist.Listing listing) -> others.accept(
                      listing.getServiceInstances(KEY).stream()
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
