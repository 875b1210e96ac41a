package io.kvasir.cell;

import io.kvasir.events.KvBatch;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.stream.KillSwitches;
import org.apache.pekko.stream.UniqueKillSwitch;
import org.apache.pekko.stream.javadsl.Keep;
import org.apache.pekko.stream.typed.javadsl.ActorSink;

/**
 * The one writer of a worker's slot: takes the batches of its event stream, in order, and applies them to
 * the index. The stream waits for each batch to be applied, so a burst slows its source and is never
 * dropped here.
 */
final class WorkerEvents {
  static final DispatcherSelector DISPATCHER = DispatcherSelector.fromConfig("kvasir-events-dispatcher");

  /** What the actor is told. */
  sealed interface Message {}

  /** Stops the stream; {@code stopped} runs when nothing more will be written. */
  record Stop(Runnable stopped) implements Message {}

  private record Started(ActorRef<Ready> stream) implements Message {}

  private record Batch(KvBatch batch, ActorRef<Ready> stream) implements Message {}

  private record Ended() implements Message {}

  private record Broken(Throwable why) implements Message {}

  private enum Ready { READY }

  private final ActorContext<Message> context;
  private final Member member;
  private final EventApplier applier;
  private final Runnable lost;
  private final UniqueKillSwitch stream;

  private WorkerEvents(ActorContext<Message> context, Member member, EventSources sources, Runnable lost) {
    this.context = context;
    this.member = member;
    this.lost = lost;
    this.applier = new EventApplier(member.blocks(), member.pod().spec().blockSize());
    this.stream =
        sources
            .open(member.worker(), member.pod().spec())
            .viaMat(KillSwitches.single(), Keep.right())
            .to(
                ActorSink.actorRefWithBackpressure(
                    context.getSelf(),
                    (ack, batch) -> new Batch(batch, ack),
                    Started::new,
                    Ready.READY,
                    new Ended(),
                    Broken::new))
            .run(context.getSystem());
  }

  /**
   * Applies a worker's events until it is told to stop.
   *
   * @param lost told when the transport loses the engine, which is often the first sign that it died
   */
  static Behavior<Message> create(Member member, EventSources sources, Runnable lost) {
    return Behaviors.setup(
        context -> {
          WorkerEvents events = new WorkerEvents(context, member, sources, lost);
          return Behaviors.receiveMessage(events::on);
        });
  }

  private Behavior<Message> on(Message message) {
    switch (message) {
      case Started started -> started.stream().tell(Ready.READY);
      case Batch batch -> {
        apply(batch.batch());
        batch.stream().tell(Ready.READY);
      }
      case Ended ignored -> context.getLog().info("the event stream of {} ended", member.worker().id());
      case Broken broken ->
          context.getLog().error("the event stream of {} broke", member.worker().id(), broken.why());
      case Stop stop -> {
        stream.shutdown();
        stop.stopped().run();
        return Behaviors.stopped();
      }
    }
    return Behaviors.same();
  }

  private void apply(KvBatch batch) {
    EventState before = applier.state();
    applier.apply(batch, System.currentTimeMillis());
    EventState after = applier.state();
    member.events(after);
    if (before.connected() && !after.connected()) {
      lost.run();
    }
    int configured = member.pod().spec().blockSize();
    if (before.blockSize() == 0 && after.blockSize() != 0 && after.blockSize() != configured) {
      context
          .getLog()
          .warn(
              "worker {} has blocks of {} tokens and prompts are cut into {}: nothing of it will be found;"
                  + " set block-size of its model to {}",
              member.worker().id(), after.blockSize(), configured, after.blockSize());
    }
  }
}
