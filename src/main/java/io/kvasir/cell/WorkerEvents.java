package io.kvasir.cell;

import io.kvasir.events.KvBatch;
import io.kvasir.index.HandOver;
import io.kvasir.index.WorkerBlocks;
import java.util.ArrayList;
import java.util.List;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.stream.KillSwitches;
import org.apache.pekko.stream.UniqueKillSwitch;
import org.apache.pekko.stream.javadsl.Keep;
import org.apache.pekko.stream.typed.javadsl.ActorSink;
import org.jspecify.annotations.Nullable;

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

  /**
   * Hands over what the worker holds to {@code heir}, part by part, and applies nothing until it is told to
   * {@link GoOn}; {@code done} runs when the last part is there.
   */
  record HandOverTo(WorkerBlocks heir, Runnable done) implements Message {}

  /** The next part is to be handed over. */
  private enum NextPart implements Message { INSTANCE }

  /** Goes on with what the member holds now. */
  enum GoOn implements Message { INSTANCE }

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

  // While the worker is handed over.
  private @Nullable HandOverTo move;
  private @Nullable HandOver parts;
  private final List<Message> heldBack = new ArrayList<>();

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
    // A stream sends one batch and waits, so there is little to hold back.
    if (move != null && (message instanceof Batch || message == Resynchronise.INSTANCE)) {
      heldBack.add(message);
      return Behaviors.same();
    }
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
      case HandOverTo begun -> {
        move = begun;
        parts = member.blocks().handOver();
        context.getSelf().tell(NextPart.INSTANCE);
      }
      case NextPart _ -> handOver();
      case GoOn _ -> goOn();
      case Stop stop -> {
        stream.shutdown();
        stop.stopped().run();
        return Behaviors.stopped();
      }
    }
    return Behaviors.same();
  }

  /** One part a turn: other workers' events are applied on the same threads. */
  private void handOver() {
    HandOverTo to = move;
    if (to == null || parts == null) {
      return;
    }
    if (parts.hasNext()) {
      to.heir().take(parts.next());
      context.getSelf().tell(NextPart.INSTANCE);
    } else {
      parts = null;
      to.done().run();
    }
  }

  private void goOn() {
    move = null;
    parts = null;
    applier.moveTo(member.blocks());
    List<Message> waiting = List.copyOf(heldBack);
    heldBack.clear();
    waiting.forEach(this::on);
  }

  private void apply(KvBatch batch) {
    EventState before = applier.state();
    applier.apply(batch, System.currentTimeMillis());
    EventState after = applier.state();
    member.events(after);
    if (after.connected()) {
      member.eventsCame();
    }
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
