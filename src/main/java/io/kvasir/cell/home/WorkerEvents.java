package io.kvasir.cell.home;

import io.kvasir.cell.EventSources;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.events.EventApplier;
import io.kvasir.cell.events.EventSeed;
import io.kvasir.cell.events.EventState;
import io.kvasir.cell.standby.CopyFeed;
import io.kvasir.cell.standby.CopyFrame;
import io.kvasir.cell.standby.CopyLink;
import io.kvasir.cell.standby.CopyProgress;
import io.kvasir.cell.standby.Standby;
import io.kvasir.cell.worker.Member;
import io.kvasir.events.KvBatch;
import io.kvasir.index.HandOver;
import io.kvasir.index.Holdings;
import io.kvasir.index.WorkerBlocks;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.stream.KillSwitches;
import org.apache.pekko.stream.UniqueKillSwitch;
import org.apache.pekko.stream.javadsl.Keep;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.stream.typed.javadsl.ActorSink;
import org.jspecify.annotations.Nullable;

/**
 * The one writer of a worker's slot: takes the batches of its event stream, in order, and applies them to
 * the index. The stream waits for each batch to be applied, so a burst slows its source and is never
 * dropped here. What changes is told to the cell's copies on other nodes.
 */
public final class WorkerEvents {
  public static final DispatcherSelector DISPATCHER = DispatcherSelector.fromConfig("kvasir-events-dispatcher");

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

  /**
   * Tells a copy everything and then every change.
   *
   * @param node where the copy is; one that was told before there is not told any more
   * @param home the incarnation of the cell's home
   */
  record CopyTo(String node, long home, ActorRef<Standby.Message> copy, CopyProgress progress) implements Message {}

  /** Tells a node's copy nothing any more. */
  record CopyNoMore(String node) implements Message {}

  /** A copy says how far it has come. */
  private record Confirmed(Standby.Confirmed copy) implements Message {}

  /** Looks whether copies answer. */
  enum CheckCopies implements Message { INSTANCE }

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
  private final CellServices services;
  private final CopyFeed copies = new CopyFeed();
  private final ActorRef<Standby.Confirmed> confirmed;
  private final Map<String, ActorRef<Standby.Message>> told = new HashMap<>();
  private int number;
  private UniqueKillSwitch stream;

  // While what the worker holds is told part by part: nothing may change meanwhile.
  private @Nullable Telling telling;
  private final List<Message> heldBack = new ArrayList<>();

  /** To whom everything is told, and what is left of it. */
  private record Telling(HandOver parts, Consumer<Holdings> taker, Runnable done) {}

  private WorkerEvents(
      ActorContext<Message> context,
      Member member,
      CellServices services,
      @Nullable EventSeed seed,
      Runnable lost) {
    this.context = context;
    this.member = member;
    this.lost = lost;
    this.services = services;
    this.sources = services.eventSources();
    this.confirmed = context.messageAdapter(Standby.Confirmed.class, Confirmed::new);
    PodSpec pod = member.pod();
    Source<KvBatch, NotUsed> rest =
        seed == null ? null : sources.resume(member.worker(), pod, seed.position().stream());
    if (seed != null && rest != null) {
      this.applier = new EventApplier(member.blocks(), pod.blockSize(), copies, seed);
      member.events(applier.state());
      this.stream = run(rest);
    } else {
      if (seed != null) {
        member.blocks().clear();
      }
      this.applier = new EventApplier(member.blocks(), pod.blockSize(), copies);
      this.stream = open();
    }
  }

  private UniqueKillSwitch open() {
    return run(sources.open(member.worker(), member.pod()));
  }

  private UniqueKillSwitch run(Source<KvBatch, NotUsed> batches) {
    int opened = ++number;
    return batches
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
   * @param seed what is known of the events whose blocks the member holds already; null when it holds none
   * @param lost told when the transport loses the engine, which is often the first sign that it died
   */
  static Behavior<Message> create(
      Member member, CellServices services, @Nullable EventSeed seed, Runnable lost) {
    return Behaviors.setup(
        context -> {
          WorkerEvents events = new WorkerEvents(context, member, services, seed, lost);
          return Behaviors.receiveMessage(events::on);
        });
  }

  private Behavior<Message> on(Message message) {
    if (telling != null && waits(message)) {
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
        copies.finish(applier.position(), 1);
        member.events(applier.state());
        member.hints(applier.hints());
        stream = open();
      }
      case HandOverTo begun -> tell(begun.heir()::take, begun.done());
      case NextPart _ -> nextPart();
      case GoOn _ -> {
        applier.moveTo(member.blocks());
        heldBack.removeIf(HandOverTo.class::isInstance);
        copies.again();
        goOn();
      }
      case CopyTo copy -> {
        told.put(copy.node(), copy.copy());
        copies.add(copy.node(), new CopyLink(way(copy), copy.progress(), services.nanos()));
        tellCopies();
      }
      case CopyNoMore copy -> {
        told.remove(copy.node());
        copies.remove(copy.node());
      }
      case Confirmed(Standby.Confirmed copy) -> {
        CopyLink link = copies.of(copy.node());
        if (link != null) {
          repaired(link.confirmed(copy.stream(), copy.next(), copy.missing()));
          tellCopies();
        }
      }
      case CheckCopies _ -> copies.links().forEach(link -> repaired(link.check()));
      case Stop stop -> {
        told.forEach((node, copy) -> {
          CopyLink link = copies.of(node);
          if (link != null) {
            copy.tell(new Standby.Left(member.worker().id(), link.stream()));
          }
        });
        stream.shutdown();
        stop.stopped().run();
        return Behaviors.stopped();
      }
    }
    return Behaviors.same();
  }

  /** A stream sends one batch and waits, so there is little to hold back. */
  private static boolean waits(Message message) {
    return switch (message) {
      case Batch _, Resynchronise _, HandOverTo _, CopyTo _ -> true;
      case Started _, Ended _, Broken _, NextPart _, GoOn _, CopyNoMore _, Confirmed _, CheckCopies _, Stop _ -> false;
    };
  }

  private void tell(Consumer<Holdings> taker, Runnable done) {
    telling = new Telling(member.blocks().handOver(), taker, done);
    context.getSelf().tell(NextPart.INSTANCE);
  }

  /** One part a turn: other workers' events are applied on the same threads. */
  private void nextPart() {
    Telling now = telling;
    if (now == null) {
      return;
    }
    if (now.parts().hasNext()) {
      now.taker().accept(now.parts().next());
      context.getSelf().tell(NextPart.INSTANCE);
    } else {
      now.done().run();
    }
  }

  /** Tells a copy everything that is to be told that. */
  private void tellCopies() {
    CopyLink link = telling == null ? copies.wanting() : null;
    if (link != null) {
      services.metrics().toldCopy();
      copies.begin(link);
      tell(
          part -> copies.part(link, part),
          () -> {
            copies.whole(link, applier.salts(), applier.position());
            goOn();
          });
    }
  }

  private CopyLink.Way way(CopyTo to) {
    return (stream, frame, finishes, payload) ->
        to.copy()
            .tell(
                new CopyFrame(
                    to.home(),
                    member.blocks().slots(),
                    member.worker().id(),
                    member.worker().slot(),
                    member.pod().capacityBlocks(),
                    stream,
                    frame,
                    finishes,
                    payload,
                    confirmed));
  }

  private void repaired(int frames) {
    if (frames > 0) {
      services.metrics().repairedCopy();
    }
  }

  private void goOn() {
    telling = null;
    List<Message> waiting = List.copyOf(heldBack);
    heldBack.clear();
    waiting.forEach(this::on);
    tellCopies();
  }

  private void apply(KvBatch batch) {
    EventState before = applier.state();
    applier.apply(batch, System.currentTimeMillis());
    copies.finish(applier.position(), batch.events().size());
    EventState after = applier.state();
    member.events(after);
    member.hints(applier.hints());
    if (after.connected()) {
      member.eventsCame();
    }
    if (before.connected() && !after.connected()) {
      lost.run();
    }
    int configured = member.pod().blockSize();
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
