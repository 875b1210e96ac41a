package io.kvasir.cell.home;

import io.kvasir.cell.EventSources;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.events.EventApplier;
import io.kvasir.cell.events.EventSeed;
import io.kvasir.cell.events.EventState;
import io.kvasir.cell.standby.ReplicaFeed;
import io.kvasir.cell.standby.ReplicaFrame;
import io.kvasir.cell.standby.ReplicaLink;
import io.kvasir.cell.standby.ReplicaProgress;
import io.kvasir.cell.standby.Standby;
import io.kvasir.cell.worker.Member;
import io.kvasir.events.EventFeed;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.StreamPosition;
import io.kvasir.index.HandOver;
import io.kvasir.index.Holdings;
import io.kvasir.index.WorkerBlocks;
import java.io.EOFException;
import java.time.Duration;
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
import org.apache.pekko.stream.ActorAttributes;
import org.apache.pekko.stream.KillSwitches;
import org.apache.pekko.stream.UniqueKillSwitch;
import org.apache.pekko.stream.javadsl.Keep;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.stream.typed.javadsl.ActorSink;
import org.jspecify.annotations.Nullable;

/**
 * The one writer of a worker's slot: takes the batches of its event stream, in order, and applies them to
 * the index. The stream waits for each batch to be applied, so a burst slows its source and is never
 * dropped here. Changes are sent to the cell's replicas on other nodes.
 */
public final class WorkerEvents {
  private static final String DISPATCHER_NAME = "kvasir-events-dispatcher";
  public static final DispatcherSelector DISPATCHER = DispatcherSelector.fromConfig(DISPATCHER_NAME);

  /** The messages to the actor. */
  sealed interface Message {}

  /** Stops the stream; {@code stopped} runs when nothing more will be written. */
  record Stop(Runnable stopped) implements Message {}

  /** Forgets what is known of the worker and opens its stream again. */
  enum Resynchronise implements Message { INSTANCE }

  /** Forgets what the worker holds: its process is gone. The stream goes on, as the next process's may come by it. */
  enum Forget implements Message { INSTANCE }

  /** Prompts are cut into blocks of so many tokens. */
  record CutInto(int tokens) implements Message {}

  /**
   * Hands over what the worker holds to {@code successor}, part by part, and applies nothing until {@link Resume};
   * {@code done} runs when the last part is there.
   */
  record HandOverTo(WorkerBlocks successor, Runnable done) implements Message {}

  /**
   * Starts sending to a replica: a snapshot and then every change.
   *
   * @param node where the replica is; it takes the place of an earlier one there
   * @param home the incarnation of the cell's home
   */
  record AddReplica(String node, long home, ActorRef<Standby.Message> standby, ReplicaProgress progress)
      implements Message {}

  /** Stops sending to a node's replica. */
  record RemoveReplica(String node) implements Message {}

  /** A replica acknowledged frames. */
  private record ReplicaAcknowledged(Standby.Acknowledged acknowledged) implements Message {}

  /** Checks whether replicas acknowledge. */
  enum CheckReplicas implements Message { INSTANCE }

  /** The next part is to be handed over. */
  private enum NextPart implements Message { INSTANCE }

  /** Goes on with what the member holds now. */
  enum Resume implements Message { INSTANCE }

  // The messages of a stream; those of one that has been replaced by another are ignored.

  private record StreamStarted(ActorRef<Ready> stream) implements Message {}

  private record Batch(int number, KvBatch batch, ActorRef<Ready> stream) implements Message {}

  private record StreamEnded(int number) implements Message {}

  private record StreamFailed(int number, Throwable cause) implements Message {}

  /** The stream that failed, or ended by itself, is to be opened again. */
  private record Reopen(int number) implements Message {}

  private enum Ready { READY }

  private static final Duration MIN_REOPEN_PAUSE = Duration.ofSeconds(1);
  private static final Duration MAX_REOPEN_PAUSE = Duration.ofSeconds(30);

  private final ActorContext<Message> context;
  private final Member member;
  private final EventApplier applier;
  private final Runnable onStreamLost;
  private final EventSources sources;
  private final CellServices services;
  private final ReplicaFeed replicas = new ReplicaFeed();
  private final ActorRef<Standby.Acknowledged> acknowledgements;
  private final Map<String, ActorRef<Standby.Message>> standbys = new HashMap<>();
  private int number;
  private UniqueKillSwitch stream;
  private Duration reopenPause = MIN_REOPEN_PAUSE;

  // While a snapshot of what the worker holds is sent part by part: nothing may change meanwhile.
  private @Nullable HoldingsTransfer transfer;
  private final List<Message> deferred = new ArrayList<>();

  /** The receiver of a snapshot, and what is left of it. */
  private record HoldingsTransfer(HandOver parts, Consumer<Holdings> receiver, Runnable done) {}

  private WorkerEvents(
      ActorContext<Message> context,
      Member member,
      CellServices services,
      @Nullable EventSeed seed,
      Runnable lost) {
    this.context = context;
    this.member = member;
    this.onStreamLost = lost;
    this.services = services;
    this.sources = services.eventSources();
    this.acknowledgements = context.messageAdapter(Standby.Acknowledged.class, ReplicaAcknowledged::new);
    PodSpec pod = member.pod();
    Source<KvBatch, NotUsed> rest =
        seed == null || !seed.isWhole() ? null : resumed(seed.position().stream());
    if (seed != null && rest != null) {
      this.applier = new EventApplier(member.cache().blocks(), pod.engine().blockSize(), replicas, seed);
      updateCache();
      this.stream = run(rest);
    } else {
      if (seed != null) {
        member.cache().blocks().clear();
      }
      this.applier = new EventApplier(member.cache().blocks(), pod.engine().blockSize(), replicas);
      this.stream = open();
    }
  }

  private UniqueKillSwitch open() {
    Source<KvBatch, NotUsed> opened;
    try {
      opened = sources.open(member.worker(), member.pod());
    } catch (RuntimeException failed) {
      opened = Source.failed(failed);
    }
    return run(opened);
  }

  /** What comes after a position; null when the stream has to be read from the beginning. */
  private @Nullable Source<KvBatch, NotUsed> resumed(StreamPosition last) {
    try {
      return sources.resume(member.worker(), member.pod(), last);
    } catch (RuntimeException failed) {
      return Source.failed(failed);
    }
  }

  private UniqueKillSwitch run(Source<KvBatch, NotUsed> batches) {
    int opened = ++number;
    return batches
        .viaMat(KillSwitches.single(), Keep.right())
        .to(
            ActorSink.actorRefWithBackpressure(
                context.getSelf(),
                (ack, batch) -> new Batch(opened, batch, ack),
                StreamStarted::new,
                Ready.READY,
                new StreamEnded(opened),
                why -> new StreamFailed(opened, why)))
        // On the actor's threads: a batch passes from one to the other without waking anybody.
        .withAttributes(ActorAttributes.dispatcher(DISPATCHER_NAME))
        .run(context.getSystem());
  }

  /**
   * Applies a worker's events until it is stopped. A stream that fails or ends is opened again, and until then the
   * worker's index counts as uncertain.
   *
   * @param seed what is known of the events whose blocks the member holds already; null when it holds none
   * @param lost runs when the transport loses the engine, which is often the first sign that it died
   */
  static Behavior<Message> create(
      Member member, CellServices services, @Nullable EventSeed seed, Runnable lost) {
    return Behaviors.setup(
        context -> {
          WorkerEvents events = new WorkerEvents(context, member, services, seed, lost);
          return Behaviors.receiveMessage(events::on);
        });
  }

  /** Whether what is known of a worker can be read again; of one without events there is nothing to read. */
  static boolean canReadAgain(Member member) {
    List<EventFeed> feeds = member.pod().events();
    return feeds.isEmpty() || feeds.stream().anyMatch(EventFeed::rereadable);
  }

  private Behavior<Message> on(Message message) {
    if (transfer != null && isDeferred(message)) {
      deferred.add(message);
      return Behaviors.same();
    }
    switch (message) {
      case StreamStarted started -> started.stream().tell(Ready.READY);
      case Batch batch -> {
        if (batch.number() == number) {
          reopenPause = MIN_REOPEN_PAUSE;
          apply(batch.batch());
        }
        batch.stream().tell(Ready.READY);
      }
      case StreamEnded ended -> {
        if (ended.number() == number) {
          streamFailed(new EOFException("the stream ended"));
        }
      }
      case StreamFailed broken -> {
        if (broken.number() == number) {
          streamFailed(broken.cause());
        }
      }
      case Reopen again -> {
        if (again.number() == number) {
          reopen();
        }
      }
      case Resynchronise _ -> {
        stream.shutdown();
        readAgain();
      }
      case Forget _ -> forget();
      case CutInto(int tokens) -> {
        if (applier.cutInto(tokens)) {
          int size = applier.state().blockSize();
          boolean again = canReadAgain(member);
          context.getLog().info(
              "worker {} has blocks of {} tokens and prompts are cut into {}: what it holds is {}, cut as they are",
              member.worker().id(), size, tokens, again ? "read again" : "known from now on only");
          if (again) {
            stream.shutdown();
            readAgain();
          } else {
            forget();
            apply(KvBatch.ofStream(new KvEvent.GapAbandoned(0, 0)));
          }
        }
      }
      case HandOverTo begun -> transfer(begun.successor()::take, begun.done());
      case NextPart _ -> nextPart();
      case Resume _ -> {
        applier.moveTo(member.cache().blocks());
        deferred.removeIf(HandOverTo.class::isInstance);
        replicas.restart();
        resume();
      }
      case AddReplica copy -> {
        standbys.put(copy.node(), copy.standby());
        replicas.add(copy.node(), new ReplicaLink(sender(copy), copy.progress(), services.clock()));
        sendSnapshots();
      }
      case RemoveReplica copy -> {
        standbys.remove(copy.node());
        replicas.remove(copy.node());
      }
      case ReplicaAcknowledged(Standby.Acknowledged copy) -> {
        ReplicaLink link = replicas.link(copy.node());
        if (link != null) {
          framesResent(link.acknowledged(copy.stream(), copy.next(), copy.missing()));
          sendSnapshots();
        }
      }
      case CheckReplicas _ -> replicas.links().forEach(link -> framesResent(link.resendOverdue()));
      case Stop stop -> {
        standbys.forEach((node, copy) -> {
          ReplicaLink link = replicas.link(node);
          if (link != null) {
            copy.tell(new Standby.WorkerRemoved(member.worker().id(), link.stream()));
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
  private static boolean isDeferred(Message message) {
    return switch (message) {
      case Batch _, StreamEnded _, StreamFailed _, Reopen _, Resynchronise _, Forget _, CutInto _, HandOverTo _,
          AddReplica _ -> true;
      case StreamStarted _, NextPart _, Resume _, RemoveReplica _, ReplicaAcknowledged _, CheckReplicas _,
          Stop _ -> false;
    };
  }

  /** Until the stream is read again, events may be missing. */
  private void streamFailed(Throwable cause) {
    services.metrics().streamFailed(member);
    member.eventProgress().failed(cause);
    context
        .getLog()
        .warn("the event stream of {} failed and is opened again: {}", member.worker().id(), String.valueOf(cause));
    apply(KvBatch.ofStream(new KvEvent.Gap(applier.position().stream().sequence() + 1)));
    apply(KvBatch.ofStream(new KvEvent.Disconnected()));
    context.scheduleOnce(reopenPause, context.getSelf(), new Reopen(number));
    Duration longer = reopenPause.multipliedBy(2);
    reopenPause = longer.compareTo(MAX_REOPEN_PAUSE) < 0 ? longer : MAX_REOPEN_PAUSE;
  }

  private void reopen() {
    StreamPosition last = applier.position().stream();
    Source<KvBatch, NotUsed> rest = last.sequence() == KvBatch.UNSEQUENCED ? null : resumed(last);
    if (rest == null && canReadAgain(member)) {
      readAgain();
    } else if (rest == null) {
      stream = open();
    } else {
      stream = run(rest);
    }
  }

  /** Forgets what the worker holds. Not by {@link #apply}: nothing has come of it. */
  private void forget() {
    applier.apply(KvBatch.ofStream(new KvEvent.Restarted()), System.currentTimeMillis());
    replicas.batchApplied(applier.position(), 1);
    updateCache();
  }

  /** Forgets what is known of the worker and reads its events from the beginning. */
  private void readAgain() {
    applier.reset();
    replicas.batchApplied(applier.position(), 1);
    updateCache();
    stream = open();
  }

  /** What decisions read of the worker's cache is as the applier has it now. */
  private void updateCache() {
    member.cache().events(applier.state());
    member.cache().hints(applier.hints());
    member.cache().groups(applier.groups());
  }

  private void transfer(Consumer<Holdings> taker, Runnable done) {
    transfer = new HoldingsTransfer(member.cache().blocks().handOver(), taker, done);
    context.getSelf().tell(NextPart.INSTANCE);
  }

  /** One part a turn: other workers' events are applied on the same threads. */
  private void nextPart() {
    HoldingsTransfer now = transfer;
    if (now == null) {
      return;
    }
    if (now.parts().hasNext()) {
      now.receiver().accept(now.parts().next());
      context.getSelf().tell(NextPart.INSTANCE);
    } else {
      now.done().run();
    }
  }

  /** Sends a snapshot to a replica that needs one. */
  private void sendSnapshots() {
    ReplicaLink link = transfer == null ? replicas.awaitingSnapshot() : null;
    if (link != null) {
      services.metrics().snapshotSent();
      replicas.beginSnapshot(link);
      transfer(
          part -> replicas.snapshotPart(link, part),
          () -> {
            replicas.endSnapshot(link, applier.salts(), applier.groups(), applier.position());
            resume();
          });
    }
  }

  private ReplicaLink.FrameSender sender(AddReplica to) {
    return (stream, frame, finishes, payload) ->
        to.standby()
            .tell(
                new ReplicaFrame(
                    to.home(),
                    member.cache().blocks().slots(),
                    member.worker().id(),
                    member.worker().slot(),
                    member.pod().engine().capacityBlocks(),
                    stream,
                    frame,
                    finishes,
                    payload.blocks(),
                    payload.groups(),
                    acknowledgements));
  }

  private void framesResent(int frames) {
    if (frames > 0) {
      services.metrics().framesResent();
    }
  }

  private void resume() {
    transfer = null;
    List<Message> waiting = List.copyOf(deferred);
    deferred.clear();
    waiting.forEach(this::on);
    sendSnapshots();
  }

  private void apply(KvBatch batch) {
    EventState before = applier.state();
    long now = System.currentTimeMillis();
    applier.apply(batch, now);
    member.eventProgress().applied(batch, now);
    replicas.batchApplied(applier.position(), batch.events().size());
    EventState after = applier.state();
    updateCache();
    if (after.connected()) {
      member.onEvents();
    }
    if (before.connected() && !after.connected()) {
      onStreamLost.run();
    }
    if (before.parts() > 1 && after.parts() == 1 && before.blockSize() == after.blockSize()) {
      context.getLog().warn(
          "worker {} has blocks of {} tokens that cannot be cut as prompts are, since it shares them by more than their"
              + " tokens: nothing of it will be found; set block-size of its model to {}",
          member.worker().id(), after.blockSize(), after.blockSize());
    }
    int configured = member.pod().engine().blockSize();
    if (before.blockSize() == 0 && after.blockSize() != 0 && after.blockSize() != configured && after.parts() == 1) {
      context
          .getLog()
          .warn(
              "worker {} has blocks of {} tokens and is described with {}: nothing of it will be found unless its"
                  + " prompts are cut into as many, or a part of them; set block-size of its model to {}",
              member.worker().id(), after.blockSize(), configured, after.blockSize());
    }
  }
}
