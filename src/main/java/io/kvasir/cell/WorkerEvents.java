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

  /** Forgets what is known of the worker and opens its stream anew. */
  enum Resynchronise implements Message { INSTANCE }

  // What a stream says; of one that has been given up for another nothing counts any more.

  private record Started(ActorRef<Ready> stream) implements Message {}

  private record Batch(int number, KvBatch batch, ActorRef<Ready> stream) implements Message {}

  private record Ended(int number) implements Message {}

  private record Broken(int number, Throwable why) implements Message {}

  private enum Ready { READY }

  private final ActorContext<Message> context;
  private final Member member;
  private final EventApplier applier;
  private final Runnable lost;
  private final EventSources sources;
  private int number;
  private UniqueKillSwitch stream;

  private WorkerEvents(ActorContext<Message> context, Member member, EventSources sources, Runnable lost) {
    this.context = context;
    this.member = member;
    this.lost = lost;
    this.sources = sources;
    this.applier = new EventApplier(member.blocks(), member.pod().spec().blockSize());
    this.stream = open();
  }

  private UniqueKillSwitch open() {
    int opened = ++number;
    return sources
        .open(member.worker(), member.pod().spec())
        .viaMat(KillSwitches.single(), Keep.right())
        .to(
            ActorSink.actorRefWithBackpressure(
                context.getSelf(),
                (ack, batch) -> new Batch(opened, batch, ack),
                Started::new,
                Ready.READY,
                new Ended(opened),
                why -> new Broken(opened, why)))
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
        if (batch.number() == number) {
          apply(batch.batch());
        }
        batch.stream().tell(Ready.READY);
      }
      case Ended ended -> {
        if (ended.number() == number) {
          context.getLog().info("the event stream of {} ended", member.worker().id());
        }
      }
      case Broken broken -> {
        if (broken.number() == number) {
          context.getLog().error("the event stream of {} broke", member.worker().id(), broken.why());
        }
      }
      case Resynchronise _ -> {
        stream.shutdown();
        applier.forget();
        member.events(applier.state());
        stream = open();
      }
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
